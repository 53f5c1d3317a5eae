"""Loops straight from the formulas, and the projections as cvxpy problems.

Slow and plain on purpose: what the library computes must agree with these.
"""

import math
import warnings

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

# Table 1, then the complements and the F-score: label -> alpha0, beta0, alpha1, beta1
COEFFICIENTS = {
    "pr": lambda y: (0, 1, 1, 0),
    "tpr": lambda y: (0, y, y, 0),
    "fpr": lambda y: (0, 1 - y, 1 - y, 0),
    "ppv": lambda y: (0, y, 0, 1),
    "for": lambda y: (y, -y, 1, -1),
    "accuracy": lambda y: (1 - y, 2 * y - 1, 1, 0),
    "fn_fp": lambda y: (y, -y, 0, 1 - y),
    "fnr": lambda y: (y, -y, y, 0),
    "tnr": lambda y: (1 - y, -(1 - y), 1 - y, 0),
    "npv": lambda y: (1 - y, -(1 - y), 1, -1),
    "fdr": lambda y: (0, 1 - y, 0, 1),
    "f_score": lambda y: (0, 2 * y, y, 1),
}


def gamma(name, h, y, member, weight=None):
    """Def. 2 for one group, row by row."""
    num = den = 0.0
    for i in range(len(h)):
        a0, b0, a1, b1 = COEFFICIENTS[name](y[i])
        w = (1.0 if weight is None else weight[i]) * member[i]
        num += w * (a0 + h[i] * b0)
        den += w * (a1 + h[i] * b1)
    return num / den if den != 0 else math.nan


def violations(name, h, s, y, weight=None):
    """Eq. 9 for every group, with the footnote's case and absent groups."""
    overall = gamma(name, h, y, np.ones(len(h)), weight)
    result = []
    for k in range(s.shape[1]):
        own = gamma(name, h, y, s[:, k], weight)
        if math.isnan(own):
            result.append(0.0)
        else:
            result.append(abs(own / overall - 1) if overall != 0 else abs(own))
    return np.array(result)


def influences(name, h, y, member, weight=None):
    """How far each row moves a group's statistic: w S (u - gamma v) / D."""
    own = gamma(name, h, y, member, weight)
    den, result = 0.0, []
    for i in range(len(h)):
        a0, b0, a1, b1 = COEFFICIENTS[name](y[i])
        w = (1.0 if weight is None else weight[i]) * member[i]
        den += w * (a1 + h[i] * b1)
        result.append(w * (a0 + h[i] * b0 - own * (a1 + h[i] * b1)))
    return [x / den for x in result] if den != 0 else [math.nan] * len(h)


def standard_error(name, h, y, member, weight=None):
    """Delta method: the root of the sum of the squared influences."""
    return math.sqrt(sum(x * x for x in influences(name, h, y, member, weight)))


def covariance(names, h, s, y, weight=None):
    """Delta method: sums of products of influences, (K, d_s, K, d_s)."""
    K, d_s = len(names), s.shape[1]
    psi = [
        [influences(name, h, y, s[:, k], weight) for k in range(d_s)] for name in names
    ]
    result = np.empty((K, d_s, K, d_s))
    for j, k, m, o in np.ndindex(*result.shape):
        pairs = zip(psi[j][k], psi[m][o], strict=True)
        result[j, k, m, o] = sum(x * z for x, z in pairs)
    return result


def departures(name, h, s, y, weight=None, pooled=False):
    """Sums' distance from parity g_k and its covariance at parity, (d_s,), (d_s, d_s).

    Pooled, every row that counts has the mean of the squares.
    """
    n, d_s = s.shape
    overall = gamma(name, h, y, np.ones(n), weight)
    rho, squares, v = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        a0, b0, a1, b1 = COEFFICIENTS[name](y[i])
        w = 1.0 if weight is None else weight[i]
        u, v[i] = w * (a0 + h[i] * b0), w * (a1 + h[i] * b1)
        rho[i] = u - overall * v[i]
        squares[i] = u**2 - u * v[i] + v[i] ** 2  # of the larger, where one is 0
    square = rho**2
    if pooled:
        square = square.sum() / squares.sum() * squares
    share = [(s[:, k] * v).sum() / v.sum() for k in range(d_s)]
    g, cov = np.zeros(d_s), np.zeros((d_s, d_s))
    for i in range(n):
        for k in range(d_s):
            g[k] += s[i, k] * rho[i]
            for m in range(d_s):
                cov[k, m] += square[i] * (s[i, k] - share[k]) * (s[i, m] - share[m])
    return g, cov


def shares(name, h, s, y, weight=None):
    """Every group's share of the denominator of everybody, (d_s,)."""
    total, own = 0.0, np.zeros(s.shape[1])
    for i in range(len(h)):
        _, _, a1, b1 = COEFFICIENTS[name](y[i])
        v = (1.0 if weight is None else weight[i]) * (a1 + h[i] * b1)
        total += v
        own += v * s[i]
    return own / total


def log_violation_covariance(name, h, s, y, weight=None):
    """Covariance of log(gamma_k / gamma_bar) by its influences, (d_s, d_s)."""
    n, d_s = s.shape
    every = np.ones(n)
    overall = gamma(name, h, y, every, weight)
    of_all = influences(name, h, y, every, weight)
    phi = []
    for k in range(d_s):
        own = gamma(name, h, y, s[:, k], weight)
        of_k = influences(name, h, y, s[:, k], weight)
        phi.append([of_k[i] / own - of_all[i] / overall for i in range(n)])
    return np.array(phi) @ np.array(phi).T


def constraint(names, h, s, y, weight=None, c=None):
    """Prop. 1: a (m, n), b (m,) and p (n,) such that b + a (p f) = 0 is parity at c."""
    n = len(h)
    p = np.full(n, 1 / n) if weight is None else weight / weight.sum()
    a, b = [], []
    for name in names:
        overall = gamma(name, h, y, np.ones(n), weight)
        fixed = overall if c is None else c
        for k in range(s.shape[1]):
            row, intercept = np.zeros(n), 0.0
            for i in range(n):
                a0, b0, a1, b1 = COEFFICIENTS[name](y[i])
                row[i] = s[i, k] * (b0 - fixed * b1)
                intercept += p[i] * s[i, k] * (a0 - fixed * a1)
            a.append(row)
            b.append(intercept)
    return np.array(a), np.array(b), p


def within(names, h, s, y, max_violation, weight=None):
    """A tolerance as a (m, n), b (m,) and p (n,) such that b + a (p f) <= 0.

    |gamma_k / c - 1| <= epsilon, c > 0, is linear where denominators are positive.
    Groups without a statistic are left out.
    """
    n = len(h)
    a, b = [], []
    for name in names:
        own = [gamma(name, h, y, member, weight) for member in s.T]
        known = np.isfinite(own)
        c = gamma(name, h, y, np.ones(n), weight)
        for sign in (1, -1):
            bound = (1 + sign * max_violation) * c
            row, intercept, p = constraint([name], h, s, y, weight, bound)
            a.append(sign * row[known])
            b.append(sign * intercept[known])
    return np.concatenate(a), np.concatenate(b), p


def divergence_expression(divergence, f, h):
    """Def. 9-11, TV and chi-squared of every row, for cvxpy."""
    if divergence == "kl":
        return cp.rel_entr(f, h) + cp.rel_entr(1 - f, 1 - h)
    if divergence == "js":
        m = (f + h) / 2
        own = cp.rel_entr(f, m) + cp.rel_entr(1 - f, 1 - m)
        return (own + cp.rel_entr(h, m) + cp.rel_entr(1 - h, 1 - m)) / 2
    if divergence == "sed":
        return 2 * cp.square(f - h)
    if divergence == "chi2":
        return cp.multiply(1 / (h * (1 - h)), cp.square(f - h))
    return cp.abs(f - h)


def project(divergence, h, a, b, p, at_most=False):
    """Eq. 11 by Clarabel: the projected scores and the mean divergence.

    The constraints are b + a (p f) = 0, or `at_most` 0.
    """
    f = cp.Variable(len(h))
    objective = cp.Minimize(p @ divergence_expression(divergence, f, h))
    size = np.abs(a) @ p
    size[size == 0] = 1
    gap = (b + a @ cp.multiply(p, f)) / size
    constraints = [gap <= 0 if at_most else gap == 0, f >= 0, f <= 1]
    problem = cp.Problem(objective, constraints)
    for tol in (1e-11, 1e-10, 1e-9, 1e-8):  # the tightest that it can reach
        tight = {f"tol_{kind}": tol for kind in ("gap_abs", "gap_rel", "feas")}
        with warnings.catch_warnings():  # "may be inaccurate": then try the next
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver=cp.CLARABEL, **tight)
        if problem.status == "optimal":
            break
    assert problem.status == "optimal", problem.status
    return f.value, problem.value


def divergence_value(divergence, f, h):
    """The mean-free definitions once more, in plain floats."""

    def kl(a, b):
        total = 0.0
        for x, z in ((a, b), (1 - a, 1 - b)):
            total += x * math.log(x / z) if x > 0 else 0.0
        return total

    if divergence == "kl":
        return kl(f, h)
    if divergence == "js":
        m = (f + h) / 2
        return (kl(f, m) + kl(h, m)) / 2
    if divergence == "sed":
        return (f - h) ** 2 + ((1 - f) - (1 - h)) ** 2
    if divergence == "chi2":
        return (f - h) ** 2 / h + (f - h) ** 2 / (1 - h)
    return (abs(f - h) + abs((1 - f) - (1 - h))) / 2


def mutual_information(h, s, weight=None):
    """Sum over groups and both predictions of P(y, s) log(P(y | s) / P(y))."""
    n, d = s.shape
    w = [(1.0 if weight is None else weight[i]) * s[i].sum() for i in range(n)]
    total = sum(w)
    overall = sum(w[i] * h[i] for i in range(n)) / total
    result = 0.0
    for k in range(d):
        size = sum(w[i] * s[i, k] for i in range(n))
        if size == 0:
            continue
        own = sum(w[i] * s[i, k] * h[i] for i in range(n)) / size
        for given_s, given_all in ((own, overall), (1 - own, 1 - overall)):
            if given_s > 0:
                result += size / total * given_s * math.log(given_s / given_all)
    return result


def hsic(h, s, sigma):
    """tr(K H L H) / n^2 with all four matrices, of the rows whose trait is known."""
    known = s.sum(1) > 0
    h, s = h[known], s[known]
    n = len(h)
    K, L = np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            K[i, j] = math.exp(-((h[i] - h[j]) ** 2) / (2 * sigma**2))
            L[i, j] = float((s[i] == s[j]).all())
    H = np.eye(n) - np.full((n, n), 1 / n)
    return np.trace(K @ H @ L @ H) / n**2


def ffb_prejudice_remover(h, group):
    """The term of the benchmark FFB: the prejudice index as a sum over rows."""
    total = 0.0
    for score, own in zip(h, group, strict=True):
        of_group, of_all = h[group == own].mean(), h.mean()
        total += score * math.log(of_group / of_all)
        total += (1 - score) * math.log((1 - of_group) / (1 - of_all))
    return total


def ffb_hsic(h, group):
    """The term of the benchmark FFB: two kernels exp(-d^2), over (n - 1)^2."""
    n = len(h)
    centre = np.eye(n) - 1 / n
    K, L = (np.exp(-(np.subtract.outer(x, x) ** 2)) for x in (h, group))
    return np.trace(L @ centre @ K @ centre) / (n - 1) ** 2


def adversary_gain(guess, s, weight=None):
    """Entropy of the groups' shares minus the cross-entropy of the guessed logits."""
    n, d = s.shape
    w = [(1.0 if weight is None else weight[i]) * s[i].sum() for i in range(n)]
    total = sum(w)
    result = 0.0
    for k in range(d):
        share = sum(w[i] * s[i, k] for i in range(n)) / total
        result -= share * math.log(share) if share > 0 else 0.0
    for i in range(n):
        norm = math.log(sum(math.exp(x) for x in guess[i]))
        for k in range(d):
            result += w[i] / total * s[i, k] * (guess[i, k] - norm)
    return result


def relative_influences(name, h, y, member, weight=None):
    """How far each row moves gamma_k / gamma_bar."""
    every = np.ones(len(h))
    own, overall = (gamma(name, h, y, x, weight) for x in (member, every))
    of_own, of_all = (influences(name, h, y, x, weight) for x in (member, every))
    return [
        a / overall - own * b / overall**2 for a, b in zip(of_own, of_all, strict=True)
    ]


def change_error(name, before, after, y, member, weight=None):
    """Standard error of the change of gamma_k / gamma_bar, paired by rows."""
    phi = [relative_influences(name, h, y, member, weight) for h in (before, after)]
    return math.sqrt(sum((b - a) ** 2 for a, b in zip(*phi, strict=True)))


def expected_coefficients(name, eta):
    """Coefficients of Def. 2 for labels that are 1 with probability eta, `(4, n)`."""
    one = np.array(COEFFICIENTS[name](1.0), dtype=float)[:, None]
    zero = np.array(COEFFICIENTS[name](0.0), dtype=float)[:, None]
    return eta * one + (1 - eta) * zero


def best_decisions(name, eta, s, kind, value, band, c=None):
    """Solve the linear programme of a tolerance by HiGHS, all groups against all.

    Maximise mean((2 eta - 1) f) over 0 <= f <= 1. Returns the optimum, or None if
    there are no such f. A statistic whose denominator depends on f needs its overall
    value c; the overall statistic is then held within a hundredth of it.
    """
    a0, b0, a1, b1 = expected_coefficients(name, eta)
    n = len(eta)
    rows, bounds = [], []

    def at_most(slope, intercept):  # intercept + mean(slope f) <= 0
        rows.append(slope / n)
        bounds.append(-intercept)

    def gamma_of(member):  # of a linear statistic: slope and intercept
        size = (member * a1).mean()
        return member * b0 / size, (member * a0).mean() / size

    def between(member, low, high):
        at_most(member * (b0 - high * b1), (member * (a0 - high * a1)).mean())
        at_most(member * (low * b1 - b0), (member * (low * a1 - a0)).mean())

    groups = [s[:, k] for k in range(s.shape[1])]
    everybody = np.ones(n)
    if c is None:
        overall, a = gamma_of(everybody)
        gammas = [gamma_of(member) for member in groups]
        for slope, b in gammas:
            if kind == "max_violation":
                at_most(slope - (1 + value) * overall, b - (1 + value) * a)
                at_most((1 - value) * overall - slope, (1 - value) * a - b)
            for other, d in gammas:
                if kind == "max_difference":
                    at_most(slope - other, b - d - value)
                if kind == "min_ratio":
                    at_most(value * slope - other, value * b - d)
    else:
        between(everybody, 0.99 * c, 1.01 * c)
        for member in groups:
            between(member, (1 - value) * c, (1 + value) * c)
    at_most(-everybody, band[0])
    at_most(everybody, -band[1])
    found = linprog(
        -(2 * eta - 1) / n, A_ub=np.array(rows), b_ub=np.array(bounds), bounds=(0, 1)
    )
    return -found.fun if found.status == 0 else None

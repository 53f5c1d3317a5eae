"""Loops straight from the formulas, and the projections as cvxpy problems.

Slow and plain on purpose: what the library computes must agree with these.
"""

import math
import warnings

import cvxpy as cp
import numpy as np

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


def project(divergence, h, a, b, p):
    """Eq. 11 by Clarabel: the projected scores and the mean divergence."""
    f = cp.Variable(len(h))
    objective = cp.Minimize(p @ divergence_expression(divergence, f, h))
    size = np.abs(a) @ p
    size[size == 0] = 1
    constraints = [(b + a @ cp.multiply(p, f)) / size == 0, f >= 0, f <= 1]
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

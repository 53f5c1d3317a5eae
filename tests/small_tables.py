"""Columns of a dataset by their names."""


def column(data, name):
    return data.feat[:, data.feat_names.index(name)].tolist()


def group(data, name):
    return data.sens[:, data.sens_names.index(name)].tolist()

"""Commands of the lab: `fairret run`, `fairret results` and `fairret figure`."""

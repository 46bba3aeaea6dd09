"""Policies: what a task gives to the others, and whether it receives anything from them.

| module | what |
|---|---|
| `policy` | the two flags, and what is kept of a task that has some: a private model |
| `mixing` | the prediction of a task that receives without giving: a mixture of two |
| `apart` | learning and scoring of streams in which such tasks occur |
| `shown` | what a model shows of all its tasks, those with a private model included |
"""

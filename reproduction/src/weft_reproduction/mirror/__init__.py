"""Cesa-Bianchi, Laforgue, Paudice and Pontil (2022): figure 1, and regret by task variance."""

"""Adaptation: a packed parser learns from the corrected sentences of a user, and is never made worse by them.

corrections.py   full and partial trees of a user, and their scores
fine_tuning.py   training of the layers and scorers, with an anchor against forgetting
adapt.py         cross-validation, the choice of the epoch, and the verdict
model.py         the folder of an adapted parser with its card
"""

"""Bulk parsing: files, folders and streams of lines, in one process or on a Ray cluster."""

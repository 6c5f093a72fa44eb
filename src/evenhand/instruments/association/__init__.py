"""The context association test: SS, LMS and ICAT, from a model or from scores."""

"""Annotation projects: texts, people with personal links, votes, adjudication, and the page of the lead."""

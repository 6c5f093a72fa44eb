"""Study: measure, mitigate, measure again, certify."""

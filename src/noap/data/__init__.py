"""From what users have to what noap works on: validation, standardising, moments, deflation, streams."""

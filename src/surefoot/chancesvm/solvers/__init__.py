"""How it is minimised: ellipsoid cutting planes, the whole cone programme, the published splitting."""

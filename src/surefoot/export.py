"""Linear models and score cards for other programs: JSON, SQL and PMML."""

from surefoot.files.pmml import to_pmml
from surefoot.files.portable_json import to_json
from surefoot.files.sql import to_sql

__all__ = ["to_json", "to_pmml", "to_sql"]

-- readable from: 20
-- No other process reads what is counted of budgets here. The version is that of PostgreSQL.
SELECT 1;

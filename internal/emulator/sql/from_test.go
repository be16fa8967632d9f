package sql_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

func TestJoins(t *testing.T) {
	runCases(t, shop(t), []queryCase{
		{sql: "SELECT u.Id, o.OrderId FROM Users u JOIN Orders o ON u.Id = o.Id ORDER BY 1, 2", rows: []string{"1, 10", "1, 11", "2, 20", "4, 40"}},
		{sql: "SELECT u.Id, o.OrderId FROM Users u LEFT JOIN Orders o ON u.Id = o.Id AND o.Amount > 2 ORDER BY 1", rows: []string{"1, 11", "2, NULL", "3, NULL", "4, NULL"}},
		{sql: "SELECT u.Id FROM Users u LEFT JOIN Orders o ON u.Id = o.Id WHERE o.Id IS NULL", rows: []string{"3"}},
		{sql: "SELECT o.OrderId, u.Id FROM Orders o RIGHT JOIN Users u ON u.Id = o.Id ORDER BY u.Id, o.OrderId DESC LIMIT 4", rows: []string{"11, 1", "10, 1", "20, 2", "NULL, 3"}},
		{sql: "SELECT u.Id, k.K FROM Users u CROSS JOIN Kinds k WHERE u.Id < 2 ORDER BY 2", rows: []string{`1, "a"`, `1, "b"`, `1, "c"`}},
		{sql: "SELECT a.Id, b.Id FROM Users a, Users b WHERE a.Age = b.Age AND a.Id < b.Id", rows: []string{"1, 4"}},
		{sql: "SELECT Id, Name, OrderId FROM Users JOIN Orders USING (Id) WHERE Id = 2", rows: []string{`2, "Bob", 20`}},
		{sql: "SELECT * FROM (SELECT Id FROM Users) u JOIN (SELECT Id, OrderId FROM Orders) o USING (Id) WHERE Id = 4", columns: "Id INT64, OrderId INT64", rows: []string{"4, 40"}},
		{sql: "SELECT a.Id, b.Id, c.Id FROM Users a LEFT JOIN (Users b JOIN Users c ON b.Id = c.Id + 1) ON a.Id = b.Id ORDER BY 1", rows: []string{"1, NULL, NULL", "2, 2, 1", "3, 3, 2", "4, 4, 3"}},
		{sql: "SELECT a.Id, b.Id FROM Users a LEFT JOIN Users b ON FALSE WHERE a.Id = 1", rows: []string{"1, NULL"}},
		{sql: "SELECT u.Id, tag, pos FROM Users u, UNNEST(u.Tags) AS tag WITH OFFSET pos ORDER BY 1, 3", columns: "Id INT64, tag STRING, pos INT64", rows: []string{`1, "x", 0`, `1, "y", 1`, `4, "y", 0`}},
		{sql: "SELECT u.Id, tag FROM Users u LEFT JOIN UNNEST(u.Tags) AS tag ORDER BY 1, 2", rows: []string{`1, "x"`, `1, "y"`, "2, NULL", "3, NULL", `4, "y"`}},
		{sql: "SELECT u.Id, t FROM Users u, u.Tags t WHERE t = 'y' ORDER BY 1", rows: []string{`1, "y"`, `4, "y"`}},
		{sql: "SELECT s.a, s.b FROM UNNEST([STRUCT(1 AS a, 'x' AS b), (2, 'y')]) AS s", rows: []string{`1, "x"`, `2, "y"`}},
		{sql: "SELECT x FROM UNNEST(@p) AS x", params: map[string]relation.Param{"p": typed(value.Array(value.StringType, []value.Value{value.String("q")}))}, rows: []string{`"q"`}},
		{sql: "SELECT f.Id FROM Users f JOIN Kinds k ON k.F > f.Id", rows: []string{"1"}},
		{sql: "SELECT u.Id FROM Users u FULL JOIN Orders o ON u.Id = o.Id", code: codes.Unimplemented, message: "FULL OUTER JOIN"},
		{sql: "SELECT 1 FROM Users u JOIN Orders u ON TRUE", code: codes.InvalidArgument, message: "Duplicate table alias u"},
		{sql: "SELECT 1 FROM UNNEST(3)", code: codes.InvalidArgument, message: "must be arrays"},
		{sql: "SELECT 1 FROM Users TABLESAMPLE BERNOULLI (10 PERCENT)", code: codes.Unimplemented, message: "TABLESAMPLE"},
	})
}

func TestSubqueries(t *testing.T) {
	runCases(t, shop(t), []queryCase{
		{sql: "SELECT Id FROM Users WHERE Id = (SELECT MAX(Id) FROM Users)", rows: []string{"4"}},
		{sql: "SELECT (SELECT Name FROM Users WHERE Id = 99)", columns: " STRING", rows: []string{"NULL"}},
		{sql: "SELECT (SELECT Id FROM Users)", code: codes.OutOfRange, message: "more than one row"},
		{sql: "SELECT (SELECT Id, Name FROM Users)", code: codes.InvalidArgument, message: "only one output column"},
		{sql: "SELECT Id FROM Users u WHERE EXISTS (SELECT 1 FROM Orders o WHERE o.Id = u.Id AND o.Amount > 0)", rows: []string{"1"}},
		{sql: "SELECT Id FROM Users u WHERE NOT EXISTS (SELECT 1 FROM Orders WHERE Orders.Id = u.Id)", rows: []string{"3"}},
		{sql: "SELECT Id FROM Users WHERE Id IN (SELECT Id FROM Orders)", rows: []string{"1", "2", "4"}},
		{sql: "SELECT Id FROM Users WHERE Age NOT IN (SELECT Age FROM Users WHERE Id = 3)", rows: []string{"1", "4"}},
		{sql: "SELECT Id FROM Users WHERE Id NOT IN (SELECT Age FROM Users)"},
		{sql: "SELECT Id, ARRAY(SELECT OrderId FROM Orders o WHERE o.Id = u.Id ORDER BY OrderId) AS os FROM Users u ORDER BY Id", columns: "Id INT64, os ARRAY<INT64>", rows: []string{"1, [10 11]", "2, [20]", "3, []", "4, [40]"}},
		{sql: "SELECT u.Id, (SELECT COUNT(*) FROM Orders o WHERE o.Id = u.Id) AS n FROM Users u ORDER BY n DESC, Id LIMIT 2", rows: []string{"1, 2", "2, 1"}},
		{sql: "SELECT Id, ARRAY(SELECT AS STRUCT OrderId, Amount FROM Orders o WHERE o.Id = u.Id) FROM Users u WHERE Id = 1", rows: []string{"1, [{11 2.25} {10 1.5}]"}},
		{sql: "WITH big AS (SELECT Id, Age FROM Users WHERE Age > 30), n AS (SELECT COUNT(*) AS c FROM big) SELECT b.Id, n.c FROM big b, n ORDER BY 1", rows: []string{"1, 2", "4, 2"}},
		{sql: "WITH a AS (SELECT 1 AS x) SELECT (SELECT x FROM a) + x FROM a", rows: []string{"2"}},
		{sql: "WITH a AS (SELECT 1), a AS (SELECT 2) SELECT * FROM a", code: codes.InvalidArgument, message: "Duplicate alias"},
		{sql: "SELECT x FROM (SELECT Age AS x FROM Users ORDER BY Age DESC LIMIT 2) ORDER BY x", rows: []string{"36", "36"}},
		{sql: "(SELECT Id FROM Users ORDER BY Id LIMIT 3) ORDER BY Id DESC LIMIT 1", rows: []string{"3"}},
		{sql: "SELECT Id FROM Users WHERE Id IN (SELECT @p)", params: map[string]relation.Param{"p": typed(value.Int64(3))}, rows: []string{"3"}},
		{sql: "SELECT (SELECT COUNT(*) FROM UNNEST(u.Tags) t WHERE t = 'y' AND u.Id > 1) FROM Users u ORDER BY u.Id", rows: []string{"0", "0", "0", "1"}},
	})
}

func TestAggregates(t *testing.T) {
	runCases(t, shop(t), []queryCase{
		{sql: "SELECT COUNT(*), COUNT(Age), COUNT(DISTINCT Age), SUM(Age), AVG(Age), MIN(Name), MAX(Name) FROM Users", rows: []string{`4, 3, 2, 92, 30.666666666666668, "Ada", "Dan"`}},
		{sql: "SELECT COUNT(*), SUM(Age), MIN(Age), AVG(Age), ARRAY_AGG(Id) FROM Users WHERE FALSE", rows: []string{"0, NULL, NULL, NULL, NULL"}},
		{sql: "SELECT COUNT(*) FROM Users WHERE FALSE GROUP BY Age"},
		{sql: "SELECT Age, COUNT(*) AS n FROM Users GROUP BY Age ORDER BY Age", columns: "Age INT64, n INT64", rows: []string{"NULL, 1", "20, 1", "36, 2"}},
		{sql: "SELECT Age, COUNT(*) AS n FROM Users GROUP BY Age HAVING n > 1", rows: []string{"36, 2"}},
		{sql: "SELECT Age AS a FROM Users GROUP BY a HAVING COUNT(*) > 1", rows: []string{"36"}},
		{sql: "SELECT EXTRACT(YEAR FROM Placed AT TIME ZONE 'UTC') AS y, SUM(Amount) FROM Orders WHERE Placed IS NOT NULL GROUP BY 1 ORDER BY y", rows: []string{"2023, -3", "2024, 3.75"}},
		{sql: "SELECT MOD(Id, 2), MOD(Id, 2) + SUM(Id) FROM Users GROUP BY MOD(Id, 2) ORDER BY MOD(Id, 2)", rows: []string{"0, 6", "1, 5"}},
		{sql: "SELECT COUNTIF(Age > 30), ANY_VALUE(Id) FROM Users WHERE Id > 3", rows: []string{"1, 4"}},
		{sql: "SELECT ARRAY_AGG(Name IGNORE NULLS ORDER BY Name DESC LIMIT 2) FROM Users", rows: []string{`["Dan" "Bob"]`}},
		{sql: "SELECT ARRAY_AGG(DISTINCT Age) FROM Users", rows: []string{"[36 NULL 20]"}},
		{sql: "SELECT STRING_AGG(Name, '; ' ORDER BY Name) FROM Users", rows: []string{`"Ada; Bob; Dan"`}},
		{sql: "SELECT LOGICAL_AND(Ok), LOGICAL_OR(Ok) FROM Kinds", rows: []string{"false, true"}},
		{sql: "SELECT SUM(F) FROM Kinds", columns: " FLOAT64", rows: []string{"1"}},
		{sql: "SELECT u.Name, SUM(o.Amount) FROM Users u JOIN Orders o ON o.Id = u.Id GROUP BY u.Id, u.Name ORDER BY 2 DESC", rows: []string{`"Ada", 3.75`, `"Dan", -3`, `"Bob", NULL`}},
		{sql: "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM Orders GROUP BY Id)", rows: []string{"2"}},
		{sql: "SELECT Age, (SELECT COUNT(*) FROM Orders o WHERE o.Id > Age) FROM Users GROUP BY Age ORDER BY Age LIMIT 2", rows: []string{"NULL, 0", "20, 0"}},
		{sql: "SELECT Name, COUNT(*) FROM Users", code: codes.InvalidArgument, message: "Expression references column Name which is neither grouped nor aggregated"},
		{sql: strings.Repeat(" ", 7000) + `SELECT '\x`, code: codes.InvalidArgument},
		{sql: strings.Repeat(" ", 7000) + `SELECT '\x; SELECT`, code: codes.InvalidArgument},
		{sql: "SELECT UPPER(name || 'x') FROM Users GROUP BY upper(Name || 'x') ORDER BY 1 LIMIT 2", rows: []string{"NULL", `"ADAX"`}},
		{sql: "SELECT CONCAT(Name, 'X') FROM Users GROUP BY CONCAT(Name, 'x')", code: codes.InvalidArgument, message: "neither grouped nor aggregated"},
		{sql: "SELECT Age FROM Users GROUP BY Age HAVING Name = 'x'", code: codes.InvalidArgument, message: "neither grouped nor aggregated"},
		{sql: "SELECT Id FROM Users WHERE COUNT(*) > 1", code: codes.InvalidArgument, message: "Aggregate function COUNT not allowed in WHERE clause"},
		{sql: "SELECT SUM(COUNT(*)) FROM Users", code: codes.InvalidArgument, message: "not allowed in an aggregate function"},
		{sql: "SELECT Id FROM Users HAVING TRUE", code: codes.InvalidArgument},
		{sql: "SELECT SUM(Name) FROM Users", code: codes.InvalidArgument, message: "No matching signature for aggregate function SUM"},
		{sql: "SELECT SUM(9223372036854775807) FROM Users", code: codes.OutOfRange, message: "overflow"},
		{sql: "SELECT Tags FROM Users GROUP BY Tags", code: codes.InvalidArgument, message: "Grouping by expressions of type"},
		{sql: "SELECT RANK() OVER (ORDER BY Id) FROM Users", code: codes.Unimplemented, message: "window function"},
		{sql: "SELECT APPROX_COUNT_DISTINCT(Id) FROM Users", code: codes.Unimplemented, message: "APPROX_COUNT_DISTINCT"},
	})
}

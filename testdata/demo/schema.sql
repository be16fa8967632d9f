CREATE TABLE Customers (
  CustomerId INT64 NOT NULL,
  Name STRING(200) NOT NULL,
  Email STRING(320),
  Country STRING(2) NOT NULL,
  Since DATE NOT NULL,
  Newsletter BOOL NOT NULL,
  Tags ARRAY<STRING(40)>,
) PRIMARY KEY (CustomerId);

CREATE TABLE Orders (
  CustomerId INT64 NOT NULL,
  OrderId STRING(36) NOT NULL,
  PlacedAt TIMESTAMP NOT NULL,
  Status STRING(20) NOT NULL,
  Total NUMERIC NOT NULL,
  Discount FLOAT64,
  Lines JSON,
  Note STRING(MAX),
) PRIMARY KEY (CustomerId, OrderId),
  INTERLEAVE IN PARENT Customers ON DELETE CASCADE;

CREATE TABLE Products (
  Sku STRING(16) NOT NULL,
  Name STRING(200) NOT NULL,
  Category STRING(40) NOT NULL,
  Price NUMERIC NOT NULL,
  WeightKg FLOAT32,
  InStock INT64 NOT NULL,
  Thumbnail BYTES(64),
) PRIMARY KEY (Sku);

CREATE INDEX ProductsByCategory ON Products (Category, Price DESC) STORING (Name);

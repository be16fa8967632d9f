// A program over the official Node.js client as people write them: instance and
// database, rows of every type, reads, queries, transactions, partitions,
// batches, errors. It runs against the server that SPANNER_EMULATOR_HOST names
// and ends with status 1 at the first thing that is not as on Spanner.
'use strict';

const assert = require('node:assert/strict');
const { Spanner, MutationGroup, MutationSet } = require('@google-cloud/spanner');

const ddl = [
  `CREATE TABLE Singers (
     SingerId INT64 NOT NULL, Name STRING(1024), Born DATE, Fee NUMERIC, Score FLOAT64, Active BOOL,
     Photo BYTES(MAX), Info JSON, Tags ARRAY<STRING(MAX)>, Updated TIMESTAMP OPTIONS (allow_commit_timestamp = true)
   ) PRIMARY KEY (SingerId)`,
  `CREATE TABLE Albums (SingerId INT64 NOT NULL, AlbumId INT64 NOT NULL, Title STRING(MAX))
   PRIMARY KEY (SingerId, AlbumId), INTERLEAVE IN PARENT Singers ON DELETE CASCADE`,
  'CREATE INDEX SingersByName ON Singers(Name)',
];

async function createDatabase(spanner) {
  const instances = spanner.getInstanceAdminClient();
  const databases = spanner.getDatabaseAdminClient();
  const [project] = [spanner.projectId];
  const [making] = await instances.createInstance({
    parent: instances.projectPath(project),
    instanceId: 'node-instance',
    instance: { displayName: 'node', nodeCount: 1, config: instances.instanceConfigPath(project, 'emulator-config') },
  });
  await making.promise();
  const [creating] = await databases.createDatabase({
    parent: databases.instancePath(project, 'node-instance'),
    createStatement: 'CREATE DATABASE `music`',
    extraStatements: ddl,
  });
  await creating.promise();
  const [printed] = await databases.getDatabaseDdl({ database: databases.databasePath(project, 'node-instance', 'music') });
  assert.equal(printed.statements.length, 3);
  return spanner.instance('node-instance').database('music');
}

async function rowsOfEveryType(database) {
  const singers = database.table('Singers');
  await singers.insert({
    SingerId: '1', Name: 'Marc', Born: '1970-09-03', Fee: Spanner.numeric('12.50'), Score: Spanner.float(1.5), Active: true,
    Photo: Buffer.from([0, 255]), Info: { b: 1, a: [null] }, Tags: ['x', null], Updated: 'spanner.commit_timestamp()',
  });
  await singers.insert([
    { SingerId: '2', Name: 'Catalina', Score: NaN },
    { SingerId: '3', Name: 'Alice', Score: null },
  ]);
  await database.table('Albums').upsert([
    { SingerId: '1', AlbumId: '1', Title: 'Total Junk' },
    { SingerId: '2', AlbumId: '1', Title: 'Green' },
  ]);
  const columns = ['SingerId', 'Name', 'Born', 'Fee', 'Score', 'Active', 'Photo', 'Info', 'Tags', 'Updated'];
  const [rows] = await singers.read({ columns, keySet: { all: true }, json: true });
  assert.equal(rows.length, 3);
  const marc = rows[0];
  assert.equal(marc.SingerId, 1);
  assert.equal(marc.Born.toJSON(), '1970-09-03');
  assert.equal(marc.Fee.value, '12.5');
  assert.equal(marc.Score, 1.5);
  assert.equal(marc.Active, true);
  assert.deepEqual(marc.Photo, Buffer.from([0, 255]));
  assert.deepEqual(marc.Info, { a: [null], b: 1 });
  assert.deepEqual(marc.Tags, ['x', null]);
  assert.ok(Math.abs(Date.now() - marc.Updated.getTime()) < 60_000);
  assert.ok(Number.isNaN(rows[1].Score));
  assert.equal(rows[2].Updated, null);
}

async function readsAndQueries(database) {
  const [indexed] = await database.table('Singers').read({ columns: ['Name'], index: 'SingersByName', keySet: { all: true }, json: true });
  assert.deepEqual(indexed.map(r => r.Name), ['Alice', 'Catalina', 'Marc']);
  const [ranged] = await database.table('Albums').read({
    columns: ['Title'], json: true,
    ranges: [{ startClosed: ['2'], endOpen: ['3'] }], keys: [['1', '1']],
  });
  assert.deepEqual(ranged.map(r => r.Title), ['Total Junk', 'Green']);
  const [found] = await database.run({
    sql: 'SELECT Name FROM Singers WHERE SingerId IN UNNEST(@ids) AND Name LIKE @like ORDER BY Name',
    params: { ids: ['1', '2', '3'], like: '%a%' },
    types: { ids: { type: 'array', child: 'int64' } },
    json: true,
  });
  assert.deepEqual(found.map(r => r.Name), ['Catalina', 'Marc']);
  const [tables] = await database.run({ sql: "SELECT table_name FROM information_schema.tables WHERE table_schema = '' ORDER BY 1", json: true });
  assert.deepEqual(tables.map(r => r.table_name), ['Albums', 'Singers']);
  const streamed = [];
  for await (const row of database.runStream({ sql: 'SELECT SingerId FROM Singers', json: true })) streamed.push(row.SingerId);
  assert.equal(streamed.length, 3);
  const [snapshot] = await database.getSnapshot({ strong: true, returnReadTimestamp: true });
  await database.table('Albums').insert({ SingerId: '3', AlbumId: '1', Title: 'Later' });
  const [before] = await snapshot.run({ sql: 'SELECT COUNT(*) AS n FROM Albums', json: true });
  assert.equal(before[0].n, 2);
  snapshot.end();
}

async function transactions(database) {
  let attempts = 0;
  await database.runTransactionAsync(async tx => {
    attempts++;
    const [rows] = await tx.read('Singers', { columns: ['Name'], keys: ['3'], json: true });
    if (attempts === 1) {
      // A write in between makes the transaction start again.
      await database.table('Singers').update({ SingerId: '3', Name: 'Alicia' });
    }
    tx.update('Singers', { SingerId: '3', Name: rows[0].Name + '!' });
    await tx.commit();
  });
  const [after] = await database.table('Singers').read({ columns: ['Name'], keys: ['3'], json: true });
  assert.equal(after[0].Name, 'Alicia!');
  assert.equal(attempts, 2);
  await database.runTransactionAsync(async tx => {
    tx.deleteRows('Singers', ['2']);
    await tx.rollback();
  });
  const mutations = new MutationSet();
  mutations.upsert('Singers', { SingerId: '4', Name: 'Four' });
  await database.writeAtLeastOnce(mutations);
  await database.table('Singers').deleteRows(['4']);
}

async function batches(database) {
  const good = new MutationGroup();
  good.insert('Singers', { SingerId: '10', Name: 'Ten' });
  good.insert('Albums', { SingerId: '10', AlbumId: '1', Title: 'Decade' });
  const bad = new MutationGroup();
  bad.insert('Singers', { SingerId: '1', Name: 'again' });
  const outcome = {};
  await new Promise((resolve, reject) => {
    database.batchWriteAtLeastOnce([good, bad]).on('error', reject).on('end', resolve)
      .on('data', r => r.indexes.forEach(i => { outcome[i] = r.status ? r.status.code : 0; }));
  });
  assert.deepEqual(outcome, { 0: 0, 1: 6 });
  const [tx] = await database.createBatchTransaction();
  const rows = [];
  const [queried] = await tx.createQueryPartitions({ sql: 'SELECT SingerId FROM Singers' });
  const [read] = await tx.createReadPartitions({ table: 'Singers', columns: ['SingerId'], keySet: { all: true } });
  for (const partitions of [queried, read]) {
    rows.length = 0;
    for (const p of partitions) {
      const [part] = await tx.execute(p);
      rows.push(...part.map(r => r.toJSON().SingerId));
    }
    assert.deepEqual(rows.sort((a, b) => a - b), [1, 2, 3, 10]);
  }
  await tx.close();
}

async function errors(database) {
  const code = n => e => e.code === n;
  await assert.rejects(database.table('Singers').insert({ SingerId: '1' }), code(6));
  await assert.rejects(database.table('Singers').update({ SingerId: '99', Name: 'x' }), code(5));
  await assert.rejects(database.table('Nobody').insert({ SingerId: '1' }), code(5));
  await assert.rejects(database.table('Albums').insert({ SingerId: '99', AlbumId: '1' }), code(5));
  await assert.rejects(database.run('SELECT 1 FROM Nobody'), code(3));
}

async function main() {
  const spanner = new Spanner({ projectId: 'node-project' });
  const database = await createDatabase(spanner);
  for (const step of [rowsOfEveryType, readsAndQueries, transactions, batches, errors]) {
    await step(database);
    console.log('ok', step.name);
  }
  await database.close();
  spanner.close();
}

main().catch(err => {
  console.error(err);
  process.exit(1);
});

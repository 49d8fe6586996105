import { afterAll, beforeAll } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { CORE_SERVER, queueCore } from './queue-core.ts';
import { ServerProcess } from './server-process.ts';

/** The main job, end to end: the public client package with workers that are processes. Runs on any machine. */
let database: TestDatabase;
let server: ServerProcess;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await ServerProcess.start({ ...CORE_SERVER, runtime: 'process', databaseUrl: database.url });
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
});

queueCore(() => server, 'podyard/echo-js:dev', 'whole');

import { afterAll, beforeAll } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { CORE_SERVER, queueCore } from '../e2e/queue-core.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { needImages } from './images.ts';
import { placeOnCluster } from './place.ts';

/** The public client package with workers that are pods of a cluster. */
describeOnCluster('with pods of a cluster', () => {
  let cluster: Cluster;
  let database: TestDatabase;
  let server: ServerProcess;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/echo-js:dev', 'podyard/echo-js:v2');
    database = await createTestDatabase();
    const place = await placeOnCluster(cluster, { gpus: 40, env: CORE_SERVER.env });
    server = await ServerProcess.start({ runtime: 'kubernetes', databaseUrl: database.url, ...place });
  });
  afterAll(async () => {
    await server?.dispose();
    await cluster?.dispose();
    await database?.drop();
  });

  queueCore(() => server, 'podyard/echo-js:dev', 'onRuntime');
});

import pg from 'pg';
import { afterAll, inject } from 'vitest';

/**
 * Set-up of a file that has the cluster for itself: waits until no other such file runs. Files of other projects may run beside
 * it. The lock of the run's database goes with the process that holds it.
 */
const LOCK = 7_064_001;

const client = new pg.Client({ connectionString: inject('testServer').url, application_name: 'podyard test' });
await client.connect();
await client.query('select pg_advisory_lock($1)', [LOCK]);
afterAll(() => client.end());

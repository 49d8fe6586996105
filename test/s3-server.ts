import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { systemClock } from '../src/core/clock.ts';
import { newId, type UserId, type VolumeId } from '../src/core/ids.ts';
import { silentLogger } from '../src/core/logger.ts';
import { createSecretBox, type SecretBox } from '../src/core/secret-box.ts';
import { S3Plane } from '../src/dataplane/s3/s3-plane.ts';
import { answerOnWire } from '../src/dataplane/wire/wire-response.ts';
import { WireServer } from '../src/dataplane/wire/wire-server.ts';
import { Bus } from '../src/db/bus.ts';
import { createApiKey } from '../src/domain/access/create-api-key.ts';
import { KeyRing } from '../src/domain/access/key-ring.ts';
import { parseScope } from '../src/domain/access/scopes.ts';
import { createUser } from '../src/domain/access/users.ts';
import { change } from '../src/domain/change.ts';
import { createS3Key, revokeS3Key } from '../src/domain/s3-keys/change-s3-key.ts';
import { createVolume } from '../src/domain/volumes/change-volume.ts';
import { StorageDirectories } from '../src/runtimes/directories/storage-directories.ts';
import { StorageQuotas } from '../src/runtimes/directories/storage-quotas.ts';
import type { FileServerPods, WorkloadStorage } from '../src/runtimes/runtime.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

export interface S3Person {
  userId: UserId;
  /** An API key with all scopes and `files:write`. */
  apiKey: string;
}

export interface S3TestKey {
  id: string;
  secret: string;
  revoke(): Promise<void>;
}

export interface S3TestServer {
  /** With the path that S3 is served under. */
  endpoint: string;
  database: TestDatabase;
  storage: StorageDirectories;
  addPerson(name: string): Promise<S3Person>;
  /** Returns its id. */
  addVolume(person: S3Person, sizeGb?: number): Promise<VolumeId>;
  /** The directory of a volume, as pods see it. */
  pathOf(volume: VolumeId): string;
  addKey(person: S3Person, ...scopes: string[]): Promise<S3TestKey>;
  client(key: Pick<S3TestKey, 'id' | 'secret'>, more?: object): S3Client;
  close(): Promise<void>;
}

const DATA_CENTER = 'EU-RO-1';

/**
 * Starts S3 on a port of its own, with its own database and directories. `serveRemotely`: returns what serves the volumes in the
 * server's place.
 */
export async function startS3Server(
  serveRemotely?: (
    server: Pick<S3TestServer, 'database' | 'pathOf'> & { bus: Bus; secretBox: SecretBox },
  ) => FileServerPods,
): Promise<S3TestServer> {
  const database = await createTestDatabase();
  const { pool } = database;
  const root = await mkdtemp(join(tmpdir(), 'podyard-s3-'));
  const bus = new Bus({ pool, databaseUrl: database.url, processId: newId(8), logger: silentLogger });
  const secretBox = createSecretBox(randomBytes(32));
  const storage = new StorageDirectories({ root, quotas: new StorageQuotas({ root, logger: silentLogger }) });
  const keyRing = new KeyRing({ pool, bus, clock: systemClock });
  const deps = { pool, bus, clock: systemClock, secretBox, logger: silentLogger };
  const pathOf = (volume: VolumeId) => join(root, 'volumes', DATA_CENTER, volume);
  const fileServers = serveRemotely?.({ database, pathOf, bus, secretBox });
  const plane = new S3Plane({
    ...deps,
    keyRing,
    storage: fileServers ? { ...remoteOnly(storage), fileServers } : storage,
  });
  const wire = new WireServer({
    ...{ tls: null, trustedProxies: null, limits: { maxHeadBytes: 16_384, idleTimeoutMs: 75_000 } },
    dispatch: () => (exchange) => answerOnWire(exchange, exchange.target, '', (req, res) => plane.handle(req, res)),
  });
  wire.server.listen(0, '127.0.0.1');
  await once(wire.server, 'listening');
  const endpoint = `http://127.0.0.1:${(wire.server.address() as AddressInfo).port}/s3`;
  const clients: S3Client[] = [];
  const actorOf = async ({ userId }: Pick<S3Person, 'userId'>) => {
    const scopes = ['all', 'files:write'].map(parseScope);
    const { key, secret } = await change(deps, null, createApiKey, { userId, name: 'test', scopes, expiresAt: null });
    return { actor: { userId, keyId: key.id, scopes }, secret };
  };
  return {
    ...{ endpoint, database, storage },
    addPerson: async (name) => {
      const { id: userId } = await createUser(pool, { name, email: null });
      return { userId, apiKey: (await actorOf({ userId })).secret };
    },
    addVolume: async (person, sizeGb = 10) => {
      const { actor } = await actorOf(person);
      const input = { name: 'models', sizeGb, dataCenterId: DATA_CENTER, type: null };
      const volume = await change(deps, actor, createVolume, input);
      await storage.ensure({ kind: 'volume', dataCenterId: DATA_CENTER, id: volume.id }, volume);
      return volume.id;
    },
    pathOf,
    addKey: async (person, ...scopes) => {
      const { actor } = await actorOf(person);
      const input = { name: 'test', scopes: scopes.map(parseScope), expiresAt: null };
      const { key, secret } = await change(deps, actor, createS3Key, input);
      return { id: key.id, secret, revoke: () => change(deps, actor, revokeS3Key, { keyId: key.id }) };
    },
    client: ({ id, secret }, more = {}) => {
      const credentials = { accessKeyId: id, secretAccessKey: secret };
      const client = new S3Client({ endpoint, region: DATA_CENTER, credentials, forcePathStyle: true, ...more });
      clients.push(client);
      return client;
    },
    close: async () => {
      for (const client of clients) client.destroy();
      await wire.close();
      plane.close();
      keyRing.close();
      await bus.stop();
      await database.drop();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** The storage of a process that mounts no volumes. */
function remoteOnly(storage: StorageDirectories): WorkloadStorage {
  return {
    ensure: (...args) => storage.ensure(...args),
    remove: (owner) => storage.remove(owner),
    usedBytes: (owner) => storage.usedBytes(owner),
  };
}

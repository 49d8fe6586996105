import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { createApiKey } from '../../src/domain/access/create-api-key.ts';
import { createUser } from '../../src/domain/access/users.ts';
import { change } from '../../src/domain/change.ts';
import { buildImage } from '../../src/runtimes/docker/images/example-images.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from '../e2e/api.ts';
import { run, runToFailure } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { describeWithEngine } from './container-engine.ts';
import { hasRegistryProgram, PrivateRegistry } from './private-registry.ts';

if (!hasRegistryProgram() && process.env.CI === 'true') {
  test('a registry is there', () => expect.fail('with CI=true these tests need docker-registry'));
}

describeWithEngine('private images', () => {
  if (!hasRegistryProgram()) return test.skip('docker-registry is missing');
  let database: TestDatabase;
  let server: ServerProcess;
  let registry: PrivateRegistry;
  let image: string;
  let api: Api;
  let strangerKey: string;
  let stranger: Api;
  beforeAll(async () => {
    const { status, note } = await buildImage({ name: 'podyard/echo-js', tag: 'dev' });
    if (status === 'skipped') throw new Error(note);
    [database, registry] = await Promise.all([createTestDatabase(), PrivateRegistry.start()]);
    image = await registry.push('podyard/echo-js:dev', 'team/worker', 'v1');
    server = await ServerProcess.start({ runtime: 'docker', databaseUrl: database.url });
    api = new Api(server);
    const context = { pool: database.pool, bus: { publish: () => {} } };
    const { id: userId } = await createUser(database.pool, { name: 'stranger', email: null });
    const given = { userId, name: 'theirs', scopes: [{ kind: 'all' } as const], expiresAt: null };
    strangerKey = (await change({ ...context, clock: systemClock }, null, createApiKey, given)).secret;
    stranger = new Api({ url: server.url, key: strangerKey });
  }, 300_000); // packs and pushes a hundred megabytes
  afterAll(async () => {
    await server?.dispose();
    await registry?.dispose();
    await database?.drop();
  });

  const createRegistry = async (password: string) => {
    const body = { name: 'hub', username: registry.auth.username, password };
    return (await api.call<{ id: string }>('POST', '/v2/registries', body)).id;
  };
  const createEndpoint = (by: Api, more: object) => by.createEndpoint({ image, workers: { min: 0, max: 1 }, ...more });
  /** Returns the system log of a worker that cannot start. */
  const refusalOf = async (by: Api, id: string, sentence: string) => {
    await by.run(id, {});
    const worker = await until('there is a worker', async () => (await by.workers(id))[0]);
    const lines = await by.logs(id, worker.id, (all) => all.some(({ line }) => line.includes(sentence)));
    await by.delete(id);
    return lines.map(({ line }) => line).join('\n');
  };

  test('runs with the right credentials and tells wrong from missing ones; another user cannot use the image that was pulled', async () => {
    const missing = await createEndpoint(api, {});
    await refusalOf(api, missing, `Image '${image}' was not found, or it is private and needs registry credentials`);
    const wrong = await createEndpoint(api, { registry: await createRegistry('wrong') });
    const said = await refusalOf(api, wrong, `The registry ${registry.host} refused the credentials`);
    expect(said).not.toContain('wrong');

    const hub = await createRegistry(registry.auth.password);
    const id = await createEndpoint(api, { registry: hub });
    expect(await api.runToEnd(id, { echo: 'private' })).toMatchObject({ status: 'COMPLETED', output: 'private' });
    await expect(api.call('DELETE', `/v2/registries/${hub}`)).rejects.toMatchObject({ status: 400 });

    const theirs = await createEndpoint(stranger, {});
    await refusalOf(stranger, theirs, 'it is private and needs registry credentials');
    await expect(createEndpoint(stranger, { registry: hub })).rejects.toMatchObject({ status: 400 });

    const stored = await server.query<{ text: string }>(
      `select line as text from log_lines union all select w::text from workers w union all select e::text from endpoints e`,
    );
    const all = JSON.stringify(stored) + server.stderr + server.stdout;
    expect(all).toContain('Pulling image'); // by a worker, or in advance
    expect(all).not.toContain(registry.auth.password);
    await api.delete(id);
  });

  test('are bases of builds that name the registry, for their user alone', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podyard-private-base-'));
    await writeFile(join(folder, 'Dockerfile'), `FROM ${image}\nLABEL base=private\n`);
    const project = { name: 'derived', build: { registries: { [registry.host]: 'bases' } } };
    await writeFile(join(folder, 'podyard.yaml'), JSON.stringify(project));
    const env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key, HOME: folder };
    try {
      const unknown = await runToFailure(['deploy', folder, '--yes'], env, 4);
      expect(unknown).toContain("Registry not found: 'bases'");
      await api.call('POST', '/v2/registries', { name: 'bases', ...registry.auth });
      await run(['deploy', folder, '--yes', '--no-wait'], env);
      const { id } = JSON.parse(await run(['endpoints', 'get', 'derived', '--json'], env));
      expect(await api.runToEnd(id, { echo: 'on top' })).toMatchObject({ status: 'COMPLETED', output: 'on top' });
      await api.delete(id);

      await writeFile(join(folder, 'podyard.yaml'), JSON.stringify({ name: 'theirs' }));
      const theirs = { ...env, PODYARD_API_KEY: strangerKey };
      const refused = await runToFailure(['deploy', folder, '--yes', '--no-cache'], theirs, 9);
      expect(refused).toContain(`Dockerfile, line 1: Image '${image}' was not found, or it is private`);

      const { builds } = await api.call<{ builds: { image: string }[] }>('GET', '/v2/builds');
      const built = await new Docker().getImage(builds[0]!.image).inspect();
      for (const base of [builds[0]!.image, built.Id.slice('sha256:'.length, -40)]) {
        await writeFile(join(folder, 'Dockerfile'), `FROM ${base}\n`);
        expect(await runToFailure(['deploy', folder, '--yes'], theirs, 9)).toContain('Dockerfile, line 1: ');
      }
    } finally {
      const { builds } = await api.call<{ builds: { image: string | null }[] }>('GET', '/v2/builds');
      for (const { image: built } of builds) if (built) await new Docker().getImage(built).remove({ force: true });
      await rm(folder, { recursive: true });
    }
  });

  test('image names do not scan ports: a service that is no registry reads like a closed port; the log has the difference', async () => {
    const banner = 'internal-banner-4711';
    const service = createServer((_, response) => response.writeHead(500).end(`<html>${banner}`)).listen(
      0,
      '127.0.0.1',
    );
    const closed = createServer().listen(0, '127.0.0.1');
    await Promise.all([once(service, 'listening'), once(closed, 'listening')]);
    const [open, shut] = [service, closed].map((one) => (one.address() as AddressInfo).port);
    closed.close();
    const [fromService, fromClosed] = await Promise.all(
      [open, shut].map(async (port) => {
        const name = `127.0.0.1:${port}/any/thing:v1`;
        const id = await api.createEndpoint({ image: name, workers: { min: 0, max: 1 } });
        const sentence = `The registry 127.0.0.1:${port} gave no usable answer for image '${name}'.`;
        const said = (await refusalOf(api, id, sentence)).replaceAll(String(port), 'PORT').split('\n');
        // The worker pulls by itself, or learns how the pull ahead of it ended; another try may be there already.
        return new Set(said.filter((line) => !line.startsWith('Pulling image')));
      }),
    );
    service.close();
    expect(fromService).toEqual(fromClosed);
    const stored = await server.query<{ text: string }>(
      `select line as text from log_lines union all select w::text from workers w union all select e::text from endpoints e
       union all select d::text from scaling_decisions d`,
    );
    expect(JSON.stringify(stored)).not.toMatch(new RegExp(`${banner}|connection refused|dial tcp`));
    expect(server.stderr).toMatch(/connection refused/);
    expect(server.stderr).toMatch(/500/);
  });

  test("Podyard's own ports are no registries", async () => {
    const image = `${new URL(server.url).host}/any/thing:v1`;
    const refused = api.createEndpoint({ image, workers: { min: 0, max: 1 } });
    await expect(refused).rejects.toMatchObject({ status: 422 });
  });
});

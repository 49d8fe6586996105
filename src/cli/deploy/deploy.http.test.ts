import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';

const HANDLER = 'def handler(job):\n    return job["input"]\n';

let cli: CliFixture;
let root: string;
let name: string;
/** How the next build ends. */
let outcome: { status: 'COMPLETED' | 'FAILED'; lines?: string[]; meanwhile?: () => Promise<unknown> };
let stopBuilding: () => void;
let built: string[] = [];

beforeAll(async () => {
  const gpus = [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'LOCAL-1', total: 8, free: 8 }];
  cli = await startCliFixture({ capacity: { read: async () => ({ gpus, cpus: 64, memoryBytes: 2 ** 38 }) } });
  stopBuilding = cli.rest.bus.subscribe('build', (id) => void endBuild(String(id)));
});
afterAll(async () => {
  stopBuilding();
  await cli.close();
});
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-deploy-'));
  name = basename(root);
  outcome = { status: 'COMPLETED' };
  built = [];
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Ends a queued build at once, as control does in time. */
async function endBuild(id: string): Promise<void> {
  const { pool } = cli.rest.database;
  const { status, lines = [] } = outcome;
  const { rowCount } = await pool.query("update builds set status = 'BUILDING' where id = $1 and status = 'QUEUED'", [
    id,
  ]);
  if (rowCount === 0) return;
  built.push(id);
  await outcome.meanwhile?.();
  await pool.query(
    `insert into build_steps (build_id, step, number, name, status, started_at)
     values ($1, 'install', 1, 'install', $2, now())`,
    [id, status],
  );
  await pool.query(
    `insert into build_lines (build_id, number, at, step, stream, text)
     select $1, number, now(), 'install', 'stderr', text from unnest($2::text[]) with ordinality as line (text, number)`,
    [id, lines],
  );
  await pool.query(
    `update builds set status = $2, started_at = now(), ended_at = now(), failed_step = $3, reason = $4,
       image = case when $2 = 'COMPLETED' then 'builds.podyard.internal/' || name || ':' || id end,
       digest = case when $2 = 'COMPLETED' then 'sha256:' || content_hash end
     where id = $1`,
    [id, status, status === 'FAILED' ? 'install' : null, status === 'FAILED' ? 'the step exited with 1' : null],
  );
  cli.rest.bus.publish('build', id as never);
}

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}
const deploy = (...args: string[]) => cli.podyard(['deploy', root, '--no-wait', ...args]);
async function endpoint() {
  return (await cli.json(['endpoints'])).find((one: { name: string }) => one.name === name);
}

describe('a folder', () => {
  test('becomes an endpoint on CPUs with a built image, and nothing is written into it', async () => {
    await write({ 'handler.py': HANDLER });
    const { status, out, err } = await deploy();
    expect([status, err]).toEqual([
      0,
      expect.stringContaining(
        `Create the endpoint ${name}\n  + image  to build: handler of handler.py, no dependencies (1 file, 42 B)`,
      ),
    ]);
    expect(err).toContain('Uploaded 1 file, 42 B.');
    const { id, image, cpu } = await endpoint();
    expect([image, cpu]).toEqual([
      `builds.podyard.internal/${name.toLowerCase()}:${built[0]}`,
      expect.objectContaining({ id: 'cpu3c' }),
    ]);
    expect(out).toContain(`/v2/${id}/runsync`);
    expect(out).toContain('curl ');
    expect(await readdir(root)).toEqual(['handler.py']);
  });

  test('that has not changed is not built again; one changed line is, and only that file is sent', async () => {
    await write({ 'handler.py': HANDLER, 'data.txt': 'x'.repeat(1000) });
    await deploy();
    expect(await deploy()).toMatchObject({
      status: 0,
      out: '',
      err: expect.stringMatching(/^Nothing changed: .* is as the folder says\.$/),
    });
    expect(JSON.parse((await deploy('--json')).out)).toMatchObject({ name, changed: false });
    await write({ 'handler.py': `${HANDLER}# changed\n` });
    const { err } = await deploy();
    expect(err).toContain(`Change the endpoint ${name}`);
    expect(err).toContain('Uploaded 1 file, 52 B.');
    expect(built).toHaveLength(2);
    expect((await endpoint()).image).toContain(built[1]);
  });

  test('as it was before has its image already: nothing is built or sent', async () => {
    await write({ 'handler.py': HANDLER });
    await deploy();
    await write({ 'handler.py': `${HANDLER}# changed\n` });
    await deploy();
    await write({ 'handler.py': HANDLER });
    const { err } = await deploy();
    expect(err).toMatch(/~ image {2}builds\S+ → builds\S+$/);
    expect([built.length, (await endpoint()).image]).toEqual([2, expect.stringContaining(built[0]!)]);
    expect(await deploy('--no-cache')).toMatchObject({ status: 0 });
    expect(built).toHaveLength(3);
  });

  test('is built again when its image is gone, as after a prune of the engine', async () => {
    await write({ 'handler.py': HANDLER });
    await deploy();
    const { id } = await endpoint();
    const note = 'update releases set image_problem = $2 where endpoint_id = $1';
    await cli.rest.database.pool.query(note, [id, 'The image is not on this machine any more: deploy again.']);
    expect(await deploy()).toMatchObject({ status: 0, err: expect.stringContaining(`Change the endpoint ${name}`) });
    expect([built.length, (await endpoint()).image]).toEqual([2, expect.stringContaining(built[1]!)]);
    expect(await deploy()).toMatchObject({ status: 0, err: expect.stringMatching(/^Nothing changed/) });
  });

  test('with --dry-run is only planned', async () => {
    await write({ 'handler.py': HANDLER });
    expect(await deploy('--dry-run')).toMatchObject({ status: 0, out: '' });
    expect(JSON.parse((await deploy('--dry-run', '--json')).out)).toMatchObject([
      { name, id: null, action: 'create', risks: [] },
    ]);
    expect([await endpoint(), built]).toEqual([undefined, []]);
  });

  test('that does not build leaves the endpoint as it is, and shows the last lines of the failing step', async () => {
    await write({ 'handler.py': HANDLER });
    await deploy();
    const before = await endpoint();
    outcome = {
      status: 'FAILED',
      lines: Array.from({ length: 30 }, (_, i) => `line ${i + 1}${' long'.repeat(i * 20)}`),
    };
    await write({ 'handler.py': `${HANDLER}#\n` });
    const { status, err } = await deploy();
    expect([status, await endpoint()]).toEqual([9, before]);
    expect(err).toMatch(/^ {2}… 10 lines before\n {2}line 11( long){98} lo …$/m);
    expect(err).toMatch(/podyard: build \w+ failed in 'install': the step exited with 1\. Nothing was changed$/);
  });

  test('without a handler, with two, or that is none is refused before anything is sent', async () => {
    expect(await deploy()).toMatchObject({
      status: 2,
      err: 'podyard: The folder is empty: `podyard init` writes one that works',
    });
    await write({ 'a.py': HANDLER, 'b.py': HANDLER });
    expect(await deploy()).toMatchObject({
      status: 2,
      err: expect.stringContaining('a.py and b.py each define handler(job)'),
    });
    for (const path of ['none', 'a.py']) {
      for (const command of ['deploy', ...(path === 'a.py' ? ['init'] : [])])
        expect(await cli.podyard([command, join(root, path)])).toMatchObject({
          status: 2,
          err: `podyard: ${join(root, path)} is not a folder`,
        });
    }
  });

  test('whose handler is a link to nothing is refused with its name', async () => {
    await symlink('elsewhere.py', join(root, 'handler.py'));
    expect(await deploy()).toMatchObject({
      status: 2,
      err: 'podyard: handler.py is a link to a file that is not there',
    });
  });

  test('with a link out of it is refused with the link', async () => {
    await write({ 'handler.py': HANDLER });
    await symlink('/etc/passwd', join(root, 'users'));
    const { status, err } = await deploy();
    expect([status, err]).toEqual([
      2,
      expect.stringContaining("'users' is a link to '/etc/passwd', outside of the folder"),
    ]);
  });

  test('says which files look like secrets, and does not send them', async () => {
    await write({ 'handler.py': HANDLER, '.env': 'TOKEN=verysecret' });
    const { err } = await deploy();
    expect(err).toContain('.env is left out: it looks like a secret.');
    const { rows } = await cli.rest.database.pool.query('select entries from build_folders where build_id = $1', [
      built[0],
    ]);
    expect(rows[0].entries.map(({ path }: { path: string }) => path)).toEqual(['handler.py']);
  });
});

describe('podyard.yaml', () => {
  test('changes what it has, field by field, and leaves the rest', async () => {
    await write({
      'handler.py': HANDLER,
      'podyard.yaml': `name: ${name}\nworkers: { max: 2 }\nenv: { A: "1", B: "2" }\n`,
    });
    await deploy();
    await cli.podyard(['endpoints', 'update', name, '--idle-timeout', '77']);
    await write({
      'podyard.yaml': `name: ${name}\nworkers: { max: 4 }\nenv: { A: "1", B: "3" }\nflashboot: FLASHBOOT\n`,
    });
    const { status, err } = await deploy();
    expect(status).toBe(0);
    expect(err.split('\n').slice(1)).toEqual([
      '  ~ workers.max  2 → 4',
      '  ~ flashboot  OFF → FLASHBOOT',
      '  ~ env.B  changed',
    ]);
    expect(await endpoint()).toMatchObject({
      workers: { min: 0, max: 4 },
      env: { A: '1', B: '3' },
      scaling: { idleTimeout: 77 },
    });
    expect(built).toHaveLength(1);
    expect(await deploy()).toMatchObject({ err: expect.stringMatching(/^Nothing changed/) });
  });

  test('makes several endpoints of one folder, with secrets and a schedule', async () => {
    await cli.podyard(['secrets', 'create', 'hub'], { input: 'value' });
    const floors = '{ timeZone: UTC, floors: [{ days: [MON], from: "08:00", until: "18:00", workersMin: 1 }] }';
    await write({
      'a.py': HANDLER,
      'b.py': 'def run(job): ...\n',
      'podyard.yaml': `endpoints:\n  - name: ${name}\n    gpu: { pools: [ADA_24] }\n    secrets: { HUB: hub }\n    schedule: ${floors}\n    build: { handler: a.py }\n  - name: ${name}-b\n    build: { handler: "b.py:run" }\n`,
    });
    expect(await deploy()).toMatchObject({ status: 0 });
    expect(built).toHaveLength(2);
    expect(await endpoint()).toMatchObject({ env: { HUB: '{{ RUNPOD_SECRET_hub }}' }, gpu: { pools: ['ADA_24'] } });
    const schedule = await cli.json(['endpoints', 'schedule', name]);
    expect(schedule.floors).toHaveLength(1);
    expect(await deploy()).toMatchObject({ err: expect.stringMatching(/^Nothing changed.*\nNothing changed/) });
    expect(await deploy('--name', 'x')).toMatchObject({
      status: 2,
      err: expect.stringContaining('--name is for one endpoint'),
    });
  });

  test('is what the endpoint has in the end, also if that was rolled back while the image was built', async () => {
    await write({ 'handler.py': HANDLER, 'podyard.yaml': 'env: { MOOD: calm }\n' });
    await deploy();
    await write({ 'handler.py': `${HANDLER}# 2\n`, 'podyard.yaml': 'env: { MOOD: wild }\n' });
    await deploy();
    await write({ 'handler.py': `${HANDLER}# 3\n` });
    outcome.meanwhile = () => cli.podyard(['rollback', name, '--no-wait']);
    const { err } = await deploy();
    expect(err).toContain(`${name} was changed while the image was built.`);
    expect(err).toContain('~ env.MOOD  changed');
    expect(await endpoint()).toMatchObject({
      env: { MOOD: 'wild' },
      image: `builds.podyard.internal/${name.toLowerCase()}:${built.at(-1)}`,
    });
  });

  test('that stops or replaces something is asked about, and needs --yes without a terminal', async () => {
    await cli.podyard([
      'endpoints',
      'create',
      name,
      '--image',
      'ghcr.io/me/app:1',
      '--pool',
      'ADA_24',
      '--env',
      'OLD=1',
    ]);
    await write({ 'handler.py': HANDLER, 'podyard.yaml': 'workers: { max: 0 }\nenv: {}\n' });
    const refused = await deploy();
    expect([refused.status, refused.err.split('\n').at(-1)]).toEqual([
      2,
      `podyard: this ${name}: replaces ghcr.io/me/app:1, which no deploy has built; ${name}: stops all workers: workers.max is 0; ${name}: removes the variables OLD, and there is no terminal to ask on: add --yes`,
    ]);
    const no = await cli.podyard(['deploy', root, '--no-wait'], { answers: ['n'] });
    expect([no.status, no.err, (await endpoint()).image]).toEqual([
      0,
      expect.stringContaining('Nothing was changed.'),
      'ghcr.io/me/app:1',
    ]);
    expect(await deploy('--yes')).toMatchObject({ status: 0 });
    expect(await endpoint()).toMatchObject({
      workers: { max: 0 },
      env: {},
      image: expect.stringContaining('builds.podyard.internal/'),
    });
  });

  test('with a schedule that the server would refuse is refused before there is an endpoint', async () => {
    await write({ 'handler.py': HANDLER, 'podyard.yaml': 'schedule: { timeZone: Mars/Base, floors: [] }\n' });
    expect(await deploy()).toMatchObject({
      status: 2,
      err: "podyard: podyard.yaml: schedule.timeZone: 'Mars/Base' is not an IANA time zone, such as Europe/Berlin or UTC",
    });
    expect([built, await endpoint()]).toEqual([[], undefined]);
  });

  test('cannot change the type of an endpoint, and its mistakes name their place', async () => {
    await write({ 'handler.py': HANDLER });
    await deploy();
    await write({ 'podyard.yaml': 'type: LOAD_BALANCING\nbuild: { command: [python, handler.py] }\n' });
    expect(await deploy()).toMatchObject({
      status: 1,
      err: expect.stringContaining('the type of an endpoint is fixed'),
    });
    await write({ 'podyard.yaml': 'name: a\nworkrs: {}\n' });
    expect(await deploy()).toMatchObject({
      status: 2,
      err: "podyard: podyard.yaml:2:1: 'workrs' is not a field. Did you mean 'workers'?",
    });
  });
});

describe('a key', () => {
  test('for builds and serverless is enough', async () => {
    await write({ 'handler.py': HANDLER });
    const key = await cli.rest.keyFor(cli.rest.alice, 'builds:write', 'serverless:write');
    const run = () => cli.podyard(['deploy', root, '--no-wait'], { env: { PODYARD_API_KEY: key } });
    expect(await run()).toMatchObject({ status: 0 });
    expect(await run()).toMatchObject({ status: 0, err: expect.stringMatching(/^Nothing changed/) });
  });

  test('without builds is refused', async () => {
    await write({ 'handler.py': HANDLER });
    const key = await cli.rest.keyFor(cli.rest.alice, 'serverless:write');
    expect(await cli.podyard(['deploy', root], { env: { PODYARD_API_KEY: key } })).toMatchObject({ status: 3 });
  });
});

describe('init', () => {
  test.each(['python', 'javascript', 'http', 'dockerfile'])('%s writes a folder that deploys', async (template) => {
    const folder = join(root, 'my App');
    const { status, err } = await cli.podyard(['init', folder, '--template', template]);
    expect([status, err]).toEqual([0, expect.stringContaining('podyard deploy')]);
    expect(await readFile(join(folder, 'podyard.yaml'), 'utf8')).toMatch(
      new RegExp(`^# yaml-language-server: \\$schema=${cli.url}/docs/assets/podyard-yaml\\.json\nname: my-app\n`),
    );
    expect(await cli.podyard(['deploy', folder, '--no-wait', '--name', `${name}-${template}`])).toMatchObject({
      status: 0,
    });
  });

  test('replaces no file', async () => {
    await write({ 'handler.py': 'mine' });
    const { status, err } = await cli.podyard(['init', root]);
    expect([status, err]).toEqual([2, `podyard: handler.py is in ${root} already: nothing was written`]);
    expect(await readdir(root)).toEqual(['handler.py']);
  });
});

test('--eject writes the Dockerfile and the kit, with which the folder deploys', async () => {
  await write({ 'handler.py': HANDLER, 'requirements.txt': 'numpy\n' });
  expect(await deploy('--eject')).toMatchObject({
    status: 0,
    out: 'Dockerfile\npodyard-kit/python/podyard_worker.py\npodyard-kit/python/run_handler.py',
  });
  const text = await readFile(join(root, 'Dockerfile'), 'utf8');
  expect(text).toContain('CMD ["python","-u","podyard-kit/python/run_handler.py","handler.py","handler"]');
  expect(text).not.toContain('.podyard');
  expect(await deploy('--eject')).toMatchObject({
    status: 2,
    err: expect.stringContaining('has a Dockerfile of its own'),
  });
  expect((await deploy()).err).toContain('to build with Dockerfile (5 files');
});

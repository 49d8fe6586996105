import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignInVisitor } from '../../test/sign-in-visitor.ts';
import { CLIENT_ID, CLIENT_SECRET, OidcServer } from '../../test/stand-ins/oidc-server.ts';
import { readOptions } from '../options.ts';
import { Latencies, type Percentiles } from '../queue/latencies.ts';
import { startPodyard } from '../queue/podyard.ts';
import { startPostgres } from '../queue/postgres.ts';
import { usageOfTree } from '../queue/process-usage.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, writeResults } from '../results.ts';

const PEOPLE = 200;
const AT_ONCE = 4;
/** The rate of the target, per second. */
const RATE = 1_000 / 60;

/** Figures of one round. CPU in ms per sign-in. */
interface Round {
  perSecond: number;
  latenciesMs: Percentiles | null;
  serverCpuMs: number;
  databaseCpuMs: number;
}

/** `node bench/main.ts sign-in`: see bench/README.md. Prints a table, writes JSON. */
export async function benchSignIn(args: string[]): Promise<void> {
  const values = readOptions(args, {
    rounds: { type: 'string', default: '3' },
    'sign-ins': { type: 'string', default: '400' },
    'cpu-prof': { type: 'string' },
  });
  const profile = values['cpu-prof'];
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const provider = await OidcServer.start();
  const postgres = await startPostgres(join(tempDir, 'shared'));
  const databaseUrl = await postgres.createDatabase('sign_in');
  const signIn = await writeSettings(tempDir, provider);
  const podyard = await startPodyard({
    ...{ dataDir: join(tempDir, 'podyard'), databaseUrl, env: { PODYARD_SIGN_IN: signIn } },
    nodeArgs: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
  });
  try {
    const startedAt = new Date().toISOString();
    provider.serve(podyard.clientUrl);
    for (let i = 0; i < PEOPLE; i++) addPerson(provider, i);
    const run = (count: number) =>
      signInMany({ provider, url: podyard.clientUrl, count, pids: [podyard.pid, postgres.pid] });
    await run(PEOPLE); // everybody has a user, and the code is compiled
    const rounds: Round[] = [];
    while (rounds.length < Number(values.rounds)) rounds.push(await run(Number(values['sign-ins'])));
    process.stdout.write(render(rounds));
    await writeResults('sign-in', { startedAt, ...{ machine: describeMachine(tempDir), rounds } });
  } finally {
    await podyard.stop();
    await postgres.stop();
    await provider.close();
    await rm(tempDir, { recursive: true, force: true });
  }
}

/** Groups; some make people members of a team, as in a company. */
async function writeSettings(dir: string, { issuer }: OidcServer): Promise<string> {
  const file = join(dir, 'sign-in.json');
  const acme = { name: 'acme', issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
  const groups = { adminGroups: ['admins'], teams: [{ group: 'group-1', team: 'ml', role: 'VIEWER' }] };
  await writeFile(file, JSON.stringify({ providers: [{ ...acme, ...groups, scopes: 'openid profile email groups' }] }));
  return file;
}

function addPerson({ accounts }: OidcServer, i: number): void {
  const groups = Array.from({ length: 20 }, (_, group) => `group-${group}`);
  const email = `person-${i}@example.org`;
  accounts.set(String(i), { sub: String(i), preferred_username: `person-${i}`, email, email_verified: true, groups });
}

/** Signs in `count` times, each with a new browser, up to the cookie of the session. */
async function signInMany(given: { provider: OidcServer; url: string; count: number; pids: number[] }): Promise<Round> {
  const { provider, url, count, pids } = given;
  const latencies = new Latencies();
  const before = pids.map((pid) => usageOfTree(pid).cpuSeconds);
  const startedAt = performance.now();
  let begun = 0;
  const browse = async () => {
    while (begun < count) {
      provider.account = String(begun++ % PEOPLE);
      const at = performance.now();
      await new SignInVisitor(url, 'acme').signIn();
      latencies.add(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, browse));
  const seconds = (performance.now() - startedAt) / 1000;
  const [serverCpuMs, databaseCpuMs] = pids.map(
    (pid, i) => ((usageOfTree(pid).cpuSeconds - before[i]!) * 1000) / count,
  );
  return {
    ...{ perSecond: count / seconds, latenciesMs: latencies.percentiles() },
    ...{ serverCpuMs: serverCpuMs!, databaseCpuMs: databaseCpuMs! },
  };
}

function render(rounds: readonly Round[]): string {
  const least = (pick: (round: Round) => number) => Math.min(...rounds.map(pick)); // the least disturbed round
  const share = (cpuMs: number) => `${((cpuMs * RATE) / 10).toFixed(1)} %`;
  const server = least((round) => round.serverCpuMs);
  const database = least((round) => round.databaseCpuMs);
  return renderTable([
    ['', 'CPU ms a sign-in', 'of a core at 1,000 a minute'],
    ['server', server.toFixed(2), share(server)],
    ['database', database.toFixed(2), share(database)],
  ]);
}

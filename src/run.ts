/**
 * The command line and what its commands act on. With server.ts it is the composition root: configuration → pieces →
 * signals. Modules load when a command needs them, so that `--help` is fast.
 */
import { randomBytes } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCli } from './cli/run-cli.ts';
import type { DoctorOptions, Storage } from './cli/shared/cli-pieces.ts';
import type { SystemdUnit } from './cli/storage/systemd-unit.ts';
import { createOutput, createTerminal } from './cli/terminal/process-terminal.ts';
import { endOnSignal } from './compose/process/end-on-signal.ts';
import { FIRST_PROCESS } from './compose/process/process-messages.ts';
import { type Config, type Flags, ROLES, readConfig } from './config/config.ts';
import { READY } from './core/flow/ready-channel.ts';
import type { Logger } from './core/logger.ts';
import type { MasterKeySource } from './core/master-key.ts';
import { makeDataDir } from './db/make-data-dir.ts';
import type { Context } from './domain/context.ts';
import type { Runtime } from './runtimes/runtime.ts';
import type { RunningServer } from './server.ts';

const { print, note, ...output } = createOutput(process.env);

/** The exit status for Ctrl-C. */
const INTERRUPTED = 130;

let isServing = false;
// A server continues without a reader of its output. Of a command, EPIPE is the end of `| head`; else a result is lost.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (isServing) return;
  if (error.code === 'EPIPE') process.exit();
  note(`podyard: the output cannot be written: ${error.message}`);
  process.exit(1);
});
process.stderr.on('error', () => {}); // stderr is closed: nothing to report to

process.exitCode = await runCli(
  {
    serve,
    demo,
    withServer,
    prove,
    copyModels,
    serveFiles,
    withDatabase,
    storage,
    systemdUnit,
    openRuntime,
    masterKeySource,
    allowsInsecureProcesses,
    doctor,
    terminal: createTerminal(process.env),
    ...output,
    print,
    note,
  },
  process.argv.slice(2),
);
// Ctrl-C waits for no connection, whose server may be out of reach.
if (process.exitCode === INTERRUPTED) process.exit();

async function serve(flags: Flags): Promise<void> {
  const config = readConfig(flags, process.env);
  const server = await startAndReport(config);
  const stopped = stopOnSignal(server); // before the line: a reader may stop the server at once
  print(`Podyard is ready at ${server.url}`);
  await stopped;
}

async function startAndReport(config: Config, { isOwn = false } = {}): Promise<RunningServer> {
  isServing = true;
  const [{ startServer }, { surviveShortage }, { protectFromOom }, logger] = await Promise.all([
    import('./server.ts'),
    import('./compose/process/survive-shortage.ts'),
    import('./compose/process/survive-shortage.ts'),
    openLogger(config),
  ]);
  surviveShortage(logger);
  await protectFromOom(); // before the database starts, which inherits it
  const server = await startServer(config, logger, (step) => note(`… ${step}`));
  channel(READY).publish(server.url);
  if (isOwn) return server; // its settings are defaults
  for (const notice of server.notices) note(`! ${notice}.`);
  if (server.newKey !== null) note(`Your first API key, shown only once: ${server.newKey}`);
  return server;
}

/**
 * Stops the server on a signal and exits. Runtime calls still in flight are not awaited: the next server finds their
 * workloads.
 */
function stopOnSignal(server: RunningServer): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => void server.stop().then(() => process.exit(), reject);
    const onSignal = endOnSignal(stop, () => process.exit(1));
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  });
}

async function demo(flags: Flags & { exit?: boolean }): Promise<void> {
  const { runDemo } = await import('./cli/server/demo.ts');
  const config = readConfig({ logLevel: 'warn', rateLimit: 'off', ...flags }, process.env); // it polls often
  const adminKey = config.adminKey ?? (await keptKey(config.dataDir));
  const startedAt = performance.now();
  const server = await startAndReport({ ...config, adminKey });
  try {
    print(
      `Podyard is ready at ${server.url} after ${((performance.now() - startedAt) / 1000).toFixed(1)} s, with the ${server.runtime} runtime`,
    );
    if (server.runtime === 'docker') await buildExampleImages();
    const target = { url: server.url, key: adminKey };
    const { endpointId } = await runDemo(target, print, flags.exit !== true);
    if (flags.exit !== true) await stayUp(server, adminKey, endpointId);
  } finally {
    await server.stop();
  }
}

async function stayUp(server: RunningServer, key: string, endpointId: string): Promise<void> {
  print(`
Everything worked. The endpoint stays up; try it:

  curl -X POST ${server.url}/v2/${endpointId}/runsync \\
    -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
    -d '{"input": {"echo": "hello"}}'

Console: ${server.url}/ (sign in with the key above). Documentation: ${server.url}/docs. Ctrl-C stops the server; its data stays.`);
  await stopOnSignal(server);
}

/** Builds the images from this machine's files: no registry is needed. */
async function buildExampleImages(): Promise<void> {
  const { buildImage } = await import('./runtimes/docker/images/example-images.ts');
  for (const tag of ['dev', 'v2']) print(`            ${(await buildImage({ name: 'podyard/echo-js', tag })).note}`);
}

/** Returns an API key that is kept with the data, so that the printed commands keep working. */
async function keptKey(dataDir: string): Promise<string> {
  const file = join(dataDir, 'demo-key');
  const known = await readFile(file, 'utf8').catch(() => '');
  if (known.trim() !== '') return known.trim();
  const key = `pyk_${randomBytes(24).toString('base64url')}`;
  await makeDataDir(dataDir);
  await writeFile(file, key, { mode: 0o600 });
  return key;
}

/** Variables that point to other servers and their data are not for this one. */
async function withServer(
  flags: Flags & { dataDir: string },
  work: (target: { url: string; key: string }) => Promise<void>,
): Promise<void> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(PODYARD_|DATABASE_URL$)/.test(name)),
  );
  const config = readConfig({ logLevel: 'warn', rateLimit: 'off', ...flags }, env);
  const key = await keptKey(config.dataDir);
  const server = await startAndReport({ ...config, adminKey: key }, { isOwn: true }).catch(async (error) => {
    const { DirectoryInUse } = await import('./compose/start-database.ts');
    if (!(error instanceof DirectoryInUse)) throw error;
    throw new Error(`this folder is served already, by the process ${error.pid}: stop that first`); // the directory is the default one
  });
  try {
    await work({ url: server.url, key });
  } finally {
    await server.stop();
  }
}

/** Clients cannot find it meanwhile: it listens on loopback, at a port that the system chooses. */
async function prove(flags: Flags): Promise<void> {
  const given = readConfig({ logLevel: 'warn', rateLimit: 'off', ...flags }, process.env);
  const hidden = { host: '127.0.0.1', port: 0, publicUrl: null, tls: null, dataProcesses: 1, roles: new Set(ROLES) };
  const [{ runProof, withProofKey }, server] = await Promise.all([
    import('./cli/server/prove.ts'),
    startAndReport({ ...given, ...hidden }),
  ]);
  try {
    const why = await whyNoProofWorker(server.runtime);
    const proveWith = (key: string) => runProof({ url: server.url, key }, why, print);
    if (given.adminKey !== null) await proveWith(given.adminKey);
    else await withDatabase(flags, (context) => withProofKey(context, proveWith));
  } finally {
    await server.stop();
  }
}

/** Runs until the models are there, or the container is killed. */
async function copyModels(root: string): Promise<void> {
  const { copyModels: copy } = await import('./models/nodes/copy-models.ts');
  const { readNodeSettings } = await import('./config/node-settings.ts');
  const { signal } = new AbortController();
  await copy({ root, ...readNodeSettings(process.env) }, { onProgress: print, signal });
}

/** Runs until no request has come for a while, or a signal. */
async function serveFiles(root: string, port: number): Promise<void> {
  const { serveFiles: serve } = await import('./dataplane/s3/remote/serve-files.ts');
  const { readFileServerSettings } = await import('./config/node-settings.ts');
  const logger = await openLogger(readConfig({}, process.env));
  const server = await serve({ root, port, logger, ...readFileServerSettings(process.env) });
  const signal = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()));
  await Promise.race([server.idle, signal]);
  await server.close();
}

/** Null: a worker for the proof can run. */
async function whyNoProofWorker(runtime: string): Promise<string | null> {
  if (runtime === 'process') return null;
  if (runtime !== 'docker') return `with the ${runtime} runtime there is no image to try`;
  const { buildImage } = await import('./runtimes/docker/images/example-images.ts');
  const { status, note } = await buildImage({ name: 'podyard/echo-js', tag: 'dev' });
  return status === 'skipped' ? note : null;
}

type Env = Readonly<Record<string, string>>;

async function withDatabase<T>(flags: Flags, work: (context: Context) => Promise<T>, more: Env = {}): Promise<T> {
  const config = readConfig({ logLevel: 'warn', ...flags }, { ...more, ...process.env });
  const [{ openDatabase }, logger] = await Promise.all([import('./compose/open-database.ts'), openLogger(config)]);
  return openDatabase(config, logger, work);
}

function storage(flags: Flags, more: Env = {}): Storage {
  const config = readConfig({ logLevel: 'warn', ...flags }, { ...more, ...process.env });
  const { dataDir, databaseUrl, masterKey } = config;
  const withEmbedded: Storage['withEmbedded'] = async (work) => {
    const [{ openEmbedded }, logger] = await Promise.all([import('./compose/open-database.ts'), openLogger(config)]);
    return openEmbedded(config, logger, work);
  };
  return { dataDir, databaseUrl, masterKey, withEmbedded };
}

async function systemdUnit(): Promise<SystemdUnit | null> {
  return (await import('./cli/storage/systemd-unit.ts')).readSystemdUnit();
}

async function openRuntime(
  flags: Flags,
  name: Runtime['name'],
  installation: string,
  more: Env = {},
): Promise<Runtime> {
  const config = readConfig({ logLevel: 'warn', ...flags }, { ...more, ...process.env });
  const { openRuntime: open } = await import('./compose/open-runtime.ts');
  return open(config, name, installation, await openLogger(config));
}

function masterKeySource(flags: Flags, more: Env = {}): MasterKeySource {
  return readConfig(flags, { ...more, ...process.env }).masterKey;
}

function allowsInsecureProcesses(flags: Flags, more: Env = {}): boolean {
  return readConfig(flags, { ...more, ...process.env }).allowInsecureProcesses;
}

async function doctor(flags: Flags, options: DoctorOptions, more: Env = {}): Promise<boolean> {
  const { runDoctor } = await import('./cli/doctor/doctor.ts');
  return runDoctor(readConfig(flags, { ...more, ...process.env }), options, { print, note });
}

async function openLogger(config: Config): Promise<Logger> {
  const { createLogger } = await import('./compose/create-logger.ts');
  return createLogger(config, config.dataProcesses > 1 ? FIRST_PROCESS : null);
}

import { readFileSync } from 'node:fs';
import { Argument, Command, CommanderError, type ErrorOptions, InvalidArgumentError } from 'commander';
import type { Flags } from '../config.ts';
import { messageOf } from '../core/errors.ts';
import type { SimulateRequest } from '../domain/simulation/simulate.ts';
import type { CliPieces } from './cli-pieces.ts';
import { completionScript, SHELLS, type Shell } from './completion.ts';
import { addRemoteCommands } from './remote-program.ts';
import type { StopWorkersOptions } from './stop-workers.ts';

const ENVIRONMENT = `
Every option can be set by a variable too: PODYARD_PORT, PODYARD_DATA_DIR and so on; an option wins over its variable.
DATABASE_URL is read as well. PODYARD_ADMIN_KEY sets the key of the first user; without it one is made and shown once.`;

/** A command line in which a word that is no command is not taken for an argument of the default one. */
class CommandLine extends Command {
  override createCommand(name?: string): Command {
    return new CommandLine(name);
  }

  override error(message: string, options?: ErrorOptions): never {
    const { parent, args } = this;
    const isUnasked = parent !== null && !parent.args.includes(this.name());
    if (options?.code !== 'commander.excessArguments' || !isUnasked) super.error(message, options);
    const path = parent.parent === null ? parent.name() : `${parent.parent.name()} ${parent.name()}`;
    const names = parent.commands.map((command) => command.name()).join(', ');
    super.error(`error: ${path} has no command '${args[0]}', but: ${names}`, {
      ...options,
      code: 'commander.unknownCommand',
    });
  }
}

export function buildCli(pieces: CliPieces): Command {
  const program = new CommandLine('podyard')
    .description("A serverless compute cloud of one's own.")
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => pieces.print(text.trimEnd()),
      writeErr: (text) => pieces.note(text.trimEnd()),
    });
  addServe(program, pieces);
  addDemo(program, pieces);
  addKeys(program, pieces);
  addUsers(program, pieces);
  addSimulate(program, pieces);
  addSecrets(program, pieces);
  addBackup(program, pieces);
  addRemoteCommands(program, pieces);
  addDoctor(program, pieces);
  addCompletion(program, pieces);
  return program;
}

/**
 * Runs one command line. Answers the exit status: 0, 1 when it failed, 2 when it was not understood; what a server refused
 * has numbers of its own (exitStatusOf), and 130 is Ctrl-C. Each failure says why.
 */
export async function runCli(pieces: CliPieces, args: readonly string[]): Promise<number> {
  try {
    await buildCli(pieces).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // it has written its text itself
    pieces.terminal.progress('');
    if (pieces.terminal.interrupted.aborted) return 130; // as shells say of Ctrl-C
    pieces.note(`podyard: ${messageOf(error)}`);
    return (await import('./remote/api-client.ts')).exitStatusOf(error);
  }
}

function addServe(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('serve', { isDefault: true }))
    .description('run the server (this is what happens without a command)')
    .action((flags: Flags) => pieces.serve(flags));
}

function addDemo(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('demo'))
    .description(
      'start a server, deploy an example endpoint, run jobs through it, change it while it works, and stay up',
    )
    .option('--exit', 'end after the demonstration instead of staying up')
    .action((flags: Flags & { exit?: boolean }) => pieces.demo(flags));
}

function addServerOptions(command: Command): Command {
  return addDatabaseOptions(command)
    .option('--port <number>', 'port to listen on, 0 for any free one (default: 8080)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--public-url <url>', 'where clients reach the API, when it is not http://<host>:<port>')
    .option('--proxy-host <name>', 'pods answer at <pod id>-<port>.<name> (default: localhost)')
    .option('--lb-host <name>', 'load-balancing endpoints answer at <endpoint id>.<name> (default: localhost)')
    .option('--tls-cert <file>', 'certificate chain (PEM): serve https with it, and with its successors')
    .option('--tls-key <file>', 'key of the certificate (PEM)')
    .option('--trusted-proxies <networks>', 'proxies in front whose X-Forwarded-* are taken, e.g. 10.0.0.0/8,::1')
    .option('--runtime <name>', 'where workers run: auto, docker, process, kubernetes or simulated (default: auto)')
    .option('--simulate-gpus <pools>', 'GPUs that only seem to be there, e.g. ADA_24:4,AMPERE_80@EU-RO-1:1, or off')
    .option('--frozen-memory <size>', 'what frozen workers may hold in memory: 8GiB, 25% or 0 for none (default: 25%)')
    .option('--rate-limit <quotas>', 'REST requests of a user, e.g. minute=60,hour=3000,day=50000, or off')
    .option('--catalog <file>', 'GPU types, CPU flavors and data centers that replace or extend the built-in ones')
    .option('--log-level <level>', 'debug, info, warn or error (default: info)')
    .option('--stop-workers', 'stop the workers at the end instead of leaving them to the next start')
    .option('--roles <roles>', 'what this process does: api,data,control (default: all)')
    .option('--data-processes <number>', 'how many processes serve the port, for machines with many cores (default: 1)')
    .addHelpText('after', ENVIRONMENT);
}

function addKeys(program: Command, pieces: CliPieces): void {
  const keys = program.command('keys').description('make, list and revoke API keys, directly in the database');
  addDatabaseOptions(keys.command('create'))
    .description('make a key and print it; it is shown only now')
    .option('--user <name>', 'whose key it is', 'admin')
    .option('--name <text>', 'what to call it', 'command line')
    .option(
      '--scope <scopes...>',
      'all, read-only, invoke, invoke/<endpoint id>, <area>:read|write or <area>/<id>:read|write',
      ['all'],
    )
    .option('--expires <time>', 'when it ends, e.g. 2030-01-31T12:00:00Z (default: never)', parseTime)
    .action(async (options: Flags & { user: string; name: string; scope: string[]; expires?: Date }) => {
      const { createKey } = await import('./keys.ts');
      await pieces.withDatabase(options, (context) => createKey(context, options, pieces));
    });
  addDatabaseOptions(keys.command('list'))
    .description('list the keys of a user that are not revoked')
    .option('--user <name>', 'whose keys', 'admin')
    .action(async (options: Flags & { user: string }) => {
      const { listUserKeys } = await import('./keys.ts');
      await pieces.withDatabase(options, (context) => listUserKeys(context, options, pieces));
    });
  addDatabaseOptions(keys.command('revoke'))
    .description('revoke a key for good')
    .argument('<id>', "the key's id, as listed")
    .option('--user <name>', 'whose key it is', 'admin')
    .action(async (id: string, options: Flags & { user: string }) => {
      const { revokeKey } = await import('./keys.ts');
      await pieces.withDatabase(options, (context) => revokeKey(context, { ...options, id }, pieces));
    });
}

function addUsers(program: Command, pieces: CliPieces): void {
  const users = program.command('users').description('make, list and limit users, directly in the database');
  addDatabaseOptions(users.command('create'))
    .description('make a user; give them a key with `podyard keys create --user <name>`')
    .argument('<name>', 'what to call the user')
    .option('--email <address>', 'how to reach them')
    .action(async (name: string, options: Flags & { email?: string }) => {
      const { createOneUser } = await import('./users.ts');
      await pieces.withDatabase(options, (context) => createOneUser(context, { ...options, name }, pieces));
    });
  addDatabaseOptions(users.command('limit'))
    .description('set or show how many REST requests a user may make')
    .argument('<name>', 'the user')
    .argument('[limit]', 'e.g. minute=600,hour=30000; exempt; default; absent: show it')
    .action(async (name: string, limit: string | undefined, options: Flags) => {
      const { limitUser } = await import('./users.ts');
      await pieces.withDatabase(options, (context) => limitUser(context, { name, limit }, pieces));
    });
  addDatabaseOptions(users.command('list'))
    .description('list all users')
    .action(async (options: Flags) => {
      const { listAllUsers } = await import('./users.ts');
      await pieces.withDatabase(options, (context) => listAllUsers(context, pieces));
    });
}

function addSecrets(program: Command, pieces: CliPieces): void {
  const secrets = program.command('secrets').description('look after what encrypts the secrets in the database');
  addDatabaseOptions(secrets.command('rotate-key'))
    .description(
      'encrypt all secrets and passwords under a new master key, while servers run; prints the id of the key',
    )
    .action(async (options: Flags) => {
      const { rotateKey } = await import('./secrets.ts');
      const source = pieces.masterKeySource(options);
      await pieces.withDatabase(options, (context) => rotateKey(context, source, pieces));
    });
}

function addBackup(program: Command, pieces: CliPieces): void {
  addDatabaseOptions(program.command('backup'))
    .description('write all of the database into a file, while servers run')
    .argument('<file>', 'where to; it must not be there yet')
    .option('--with-master-key', 'put the key into it that opens the secrets: keep the file as safe as those', false)
    .action(async (file: string, { withMasterKey, ...flags }: Flags & { withMasterKey: boolean }) => {
      const { backUp } = await import('./backup.ts');
      await backUp(pieces.storage(flags), { file, withMasterKey, version: readVersion() }, pieces);
    });
  addDatabaseOptions(program.command('restore'))
    .description('make an empty database from a backup: all of it, or nothing')
    .argument('<file>', 'what `podyard backup` wrote')
    .action(async (file: string, flags: Flags) => {
      const { restore } = await import('./backup.ts');
      await restore(pieces.storage(flags), { file }, pieces);
    });
  addDatabaseOptions(program.command('move'))
    .description('move everything to another database; no server may run meanwhile')
    .requiredOption('--to <database>', 'a PostgreSQL URL, or `embedded` for the one in the data directory')
    .action(async ({ to, ...flags }: Flags & { to: string }) => {
      const { move } = await import('./move.ts');
      await move(pieces.storage(flags), { to }, pieces);
    });
  addDatabaseOptions(program.command('stop-workers'))
    .description('end the workers and containers of pods that a server left running which is gone')
    .option(
      '--runtime <name>',
      'where they run: docker, process or kubernetes (default: where the last server had them)',
    )
    .option('--grace <seconds>', 'how long a program may take to end (default: 10)', parseCount)
    .action(async ({ grace, runtime, ...flags }: Flags & { grace?: number }) => {
      const { stopWorkers } = await import('./stop-workers.ts');
      const open: StopWorkersOptions['open'] = (name, installation) => pieces.openRuntime(flags, name, installation);
      await stopWorkers(
        pieces.storage(flags),
        { runtime: runtime ?? null, graceMs: (grace ?? 10) * 1000, open },
        pieces,
      );
    });
}

function addDoctor(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('doctor'))
    .description('tell what of this machine a server would use, and what to do about what is missing')
    .option('--json', 'print JSON, for programs')
    .action(async ({ json, ...flags }: Flags & { json?: boolean }) => {
      if (!(await pieces.doctor(flags, json === true))) throw new Error('a server could not run here as it is');
    });
}

function addCompletion(program: Command, pieces: CliPieces): void {
  program
    .command('completion')
    .description('print a script that completes commands: source <(podyard completion bash)')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell) => pieces.print(completionScript(program, shell).trimEnd()));
}

function addSimulate(program: Command, pieces: CliPieces): void {
  const simulate = program
    .command('simulate')
    .description('make a server with simulated GPUs pretend shortage, to see how clients take it');
  const run = async (flags: Flags, request: SimulateRequest) => {
    const { simulateShortage } = await import('./simulate.ts');
    await pieces.withDatabase(flags, (context) => simulateShortage(context, request, pieces));
  };
  addDatabaseOptions(simulate.command('show'))
    .description('show what is pretended')
    .action(async (flags: Flags) => {
      const { showSimulation } = await import('./simulate.ts');
      await pieces.withDatabase(flags, (context) => showSimulation(context, pieces));
    });
  addDatabaseOptions(simulate.command('capacity'))
    .description('set how many GPUs a pool has in a data center; what runs keeps what it has')
    .argument('<place>', 'e.g. ADA_24 or ADA_24@EU-RO-1')
    .argument('<count>', 'GPUs from now on, 0 for none', parseCount)
    .action(async (place: string, total: number, flags: Flags) => {
      const [pool = '', dataCenterId] = place.split('@');
      await run(flags, { action: 'capacity', pool, dataCenterId, total });
    });
  addDatabaseOptions(simulate.command('slow-pull'))
    .description('make every start wait for its image')
    .argument('<seconds>', 'how long, 0 to end it', parseCount)
    .option('--image <name>', 'only of this image')
    .action((seconds: number, flags: Flags & { image?: string }) =>
      run(flags, { action: 'slow-pull', seconds, image: flags.image }),
    );
  addDatabaseOptions(simulate.command('crash'))
    .description('let a worker crash, or the next starts of an endpoint')
    .option('--worker <id>', 'this worker, now')
    .option('--endpoint <id>', 'the next starts of this endpoint')
    .option('--starts <number>', 'how many of them (default: 3)', parseCount)
    .option('--exit-code <number>', 'with which status the worker ends (default: 1)', parseCount)
    .action((flags: Flags & { worker?: string; endpoint?: string; starts?: number; exitCode?: number }) => {
      const { worker: workerId, endpoint: endpointId, starts, exitCode } = flags;
      return run(flags, { action: 'crash', workerId, endpointId, starts, exitCode });
    });
  addDatabaseOptions(simulate.command('preempt'))
    .description('take the place of a worker away')
    .argument('<worker>', 'its id')
    .option('--grace <seconds>', 'how long it may go on (default: 5)', parseCount)
    .action((workerId: string, flags: Flags & { grace?: number }) =>
      run(flags, { action: 'preempt', workerId, graceSeconds: flags.grace }),
    );
  addDatabaseOptions(simulate.command('reset'))
    .description('go back to what the server was started with')
    .action((flags: Flags) => run(flags, { action: 'reset' }));
}

function parseCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function addDatabaseOptions(command: Command): Command {
  return command
    .option('--data-dir <path>', 'where the embedded database and everything else is kept (default: ./.podyard)')
    .option('--database-url <url>', 'a PostgreSQL server to use instead of the embedded one');
}

function parseTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('It must be a time like 2030-01-31T12:00:00Z.');
  return time;
}

function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

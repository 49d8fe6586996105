import type { Command } from 'commander';
import type { Flags } from '../../config.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addDatabaseOptions } from '../shared/options.ts';

const ENVIRONMENT = `
Every option can also be set by a variable, such as PODYARD_PORT or PODYARD_DATA_DIR; an option wins over its variable.
DATABASE_URL is read as well. PODYARD_ADMIN_KEY sets the first user's key; without it, one is generated and shown once.`;

/** Adds `serve` and `demo`. */
export function addServerCommands(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('serve', { isDefault: true }))
    .description('run the server (the default command)')
    .action((flags: Flags) => pieces.serve(flags));
  addServerOptions(program.command('demo'))
    .description('start a server, deploy an example endpoint, run jobs, roll out a release, and stay up')
    .option('--exit', 'exit after the demo instead of staying up')
    .action((flags: Flags & { exit?: boolean }) => pieces.demo(flags));
}

export function addDoctor(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('doctor'))
    .description('check what a server would use on this machine, and how to fix what is missing')
    .option('--json', 'print JSON, for programs')
    .action(async ({ json, ...flags }: Flags & { json?: boolean }) => {
      const { unitVariables } = await import('../storage/installation.ts');
      const more = await unitVariables(pieces, flags);
      if (!(await pieces.doctor(flags, json === true, more))) throw new Error('a server cannot run here yet');
    });
}

/** Adds every setting of a server. */
function addServerOptions(command: Command): Command {
  return addDatabaseOptions(command)
    .option('--port <number>', 'port to listen on; 0: any free port (default: 8080)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--public-url <url>', 'URL at which clients reach the API (default: http://<host>:<port>)')
    .option('--proxy-host <name>', 'pods answer at <pod id>-<port>.<name> (default: localhost)')
    .option('--lb-host <name>', 'load-balancing endpoints answer at <endpoint id>.<name> (default: localhost)')
    .option('--tls-cert <file>', 'certificate chain (PEM) for HTTPS; a renewed file is picked up at once')
    .option('--tls-key <file>', "the certificate's key (PEM)")
    .option('--trusted-proxies <networks>', 'proxies whose X-Forwarded-* headers are trusted, e.g. 10.0.0.0/8,::1')
    .option('--runtime <name>', 'where workers run: auto, docker, process, kubernetes or simulated (default: auto)')
    .option(
      '--egress <scope>',
      'what workers and pods can reach: internet, lan (also private networks) or all (default: lan)',
    )
    .option('--egress-allow <networks>', 'what they can reach as well, e.g. 10.0.5.0/24,192.168.1.10:5432')
    .option(
      '--registries <patterns>',
      'registries that images may come from, e.g. docker.io,*.example.com (default: any)',
    )
    .option(
      '--webhook-networks <receivers>',
      'where webhooks may go besides the public internet, e.g. 10.0.5.0/24,127.0.0.1:9000,hooks.lan',
    )
    .option('--insecure-process-runtime', 'let several users share the process runtime, which does not separate them')
    .option('--simulate-gpus <pools>', 'GPUs to simulate, e.g. ADA_24:4,AMPERE_80@EU-RO-1:1; off: real GPUs only')
    .option('--share-gpus <number>', 'workers that get each GPU at once, not isolated from each other (default: 1)')
    .option('--frozen-memory <size>', 'memory for frozen workers: 8GiB, 25% or 0 for none (default: 25%)')
    .option('--memory-per-gpu <size>', 'memory limit per GPU: auto, 64GiB, 25% or off (default: auto)')
    .option('--cpus-per-gpu <number>', 'CPU limit per GPU: auto, 8 or off (default: auto)')
    .option('--rest-v1', 'also serve REST v1, for old clients')
    .option('--no-terminal', 'nobody runs programs in workers and pods: no terminals, exec and cp')
    .option('--rate-limit <quotas>', 'API requests per user, e.g. minute=60,hour=3000,day=50000, or off')
    .option('--rest-revision <name>', 'what plain /v2 speaks: 2026-07 or 2026-08 (default: 2026-07)')
    .option(
      '--catalog <file>',
      'GPU types, CPU flavors, data centers and templates that replace or extend the built-in ones',
    )
    .option('--log-level <level>', 'debug, info, warn or error (default: info)')
    .option('--log-retention-seconds <number>', 'how long log lines of workers and pods are kept (default: 2592000)')
    .option('--log-size <size>', 'what they may take on disk; the oldest go first (default: 2GiB)')
    .option('--stop-workers', 'stop workers at shutdown instead of leaving them to the next start')
    .option('--roles <roles>', 'what this process does: api,data,control (default: all)')
    .option('--data-processes <number>', 'processes that share the port, for machines with many cores (default: 1)')
    .addHelpText('after', ENVIRONMENT);
}

import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { onEndpoint } from '../shared/command-shape.ts';
import { wholeNumber } from '../shared/options.ts';
import type { ConnectOptions } from './git-source.ts';

const source = () => import('./git-source.ts');

export function addGit(program: Command, pieces: CliPieces): void {
  const git = program.command('git').description('build endpoints from git repositories');
  onEndpoint<ConnectOptions>(git.command('connect'), pieces, async (client, id, options, name, url) =>
    (await source()).connectRepository(client, { id, name }, url!, checked(options), pieces),
  )
    .description('build an endpoint from a repository: now, and after each push')
    .argument('<url>', 'https://…, or git@host:path with --deploy-key')
    .option('--branch <name>', 'what to build (default: main)')
    .option('--tags <pattern>', 'build the highest version of the tags that match instead, such as v*')
    .option('--folder <path>', 'folder in the repository (default: all of it)')
    .option('--token-secret <name>', 'secret with a token that may read the repository')
    .option('--deploy-key', 'read it through ssh with a key that the server makes')
    .option('--poll <seconds>', 'look this often as well, from 60 on', wholeNumber)
    .option('--statuses <api>', 'post how builds go to the API of github, gitlab or gitea, or none')
    .option('--apply-settings', 'set the endpoint as podyard.yaml of each commit says')
    .option('--dockerfile <path>', 'build with this Dockerfile of the folder')
    .option('--handler <file[:name]>', 'the function to serve, instead of the one that is found')
    .option('--rotate-secret', 'make a new secret for the webhook');
  onEndpoint<{ json?: boolean }>(git.command('show'), pieces, async (client, id, options, name) =>
    (await source()).showRepository(client, { id, name }, options, pieces),
  ).description('show which repository an endpoint is built from, and what the last look found');
  onEndpoint<{ json?: boolean }>(git.command('sync'), pieces, async (client, id, options, name) =>
    (await source()).syncRepository(client, { id, name }, options, pieces),
  ).description('look at the repository now');
  onEndpoint<{ json?: boolean }>(git.command('disconnect'), pieces, async (client, id, options, name) =>
    (await source()).disconnectRepository(client, { id, name }, options, pieces),
  ).description('build an endpoint from no repository any more; it keeps its image');
}

function checked(options: ConnectOptions): ConnectOptions {
  if (options.branch !== undefined && options.tags !== undefined)
    throw new UsageError('give --branch or --tags, not both');
  if (options.tokenSecret !== undefined && options.deployKey)
    throw new UsageError('give --token-secret, for https, or --deploy-key, for ssh');
  return options;
}

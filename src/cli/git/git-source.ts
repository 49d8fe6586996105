import { present } from '../fields/field.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface ConnectOptions {
  branch?: string;
  tags?: string;
  folder?: string;
  tokenSecret?: string;
  deployKey?: boolean;
  poll?: number;
  statuses?: string;
  applySettings?: boolean;
  dockerfile?: string;
  handler?: string;
  rotateSecret?: boolean;
  json?: boolean;
}

type GitSource = Schemas['GitSource'];
/** `name`: what the user calls the endpoint. */
interface Target {
  id: string;
  name: string;
}

/** Connects an endpoint with a repository, and says what is to be done at the repository's host. */
export async function connectRepository(
  client: ApiClient,
  { id, name }: Target,
  url: string,
  options: ConnectOptions,
  output: CliOutput,
): Promise<void> {
  const {
    branch,
    tags,
    folder,
    tokenSecret,
    deployKey,
    poll,
    statuses,
    dockerfile,
    handler,
    rotateSecret,
    applySettings,
  } = options;
  const auth =
    tokenSecret === undefined
      ? { type: deployKey ? ('DEPLOY_KEY' as const) : ('NONE' as const) }
      : { type: 'TOKEN' as const, secret: tokenSecret };
  const api = statuses?.toUpperCase() as GitSource['statuses'] | undefined; // the server says which there are
  const given = present({
    branch,
    tags,
    folder,
    pollSeconds: poll,
    statuses: api,
    applySettings,
    rotateWebhookSecret: rotateSecret,
  });
  const body = { url, auth, build: present({ dockerfile, handler }), ...given };
  const source = await client.call('put', '/v2/serverless/{id}/git-source', { path: { id }, body });
  if (options.json) return output.print(jsonText(source));
  output.print(sourceText(source));
  const { publicKey } = source.auth;
  const todo = [
    ...(publicKey === null
      ? []
      : [`Add the deploy key to the repository, for reading alone, then: podyard git sync ${name}`]),
    `For a build after each push, add the webhook to the repository, with content type application/json${source.webhookSecret === null ? ' (--rotate-secret makes a new secret)' : ''}`,
  ];
  output.note(`${todo.join('\n')}\nWhat the server finds: podyard git show ${name}`);
}

export async function showRepository(
  client: ApiClient,
  { id }: Target,
  { json }: { json?: boolean },
  output: CliOutput,
): Promise<void> {
  const source = await client.call('get', '/v2/serverless/{id}/git-source', { path: { id } });
  output.print(json ? jsonText(source) : sourceText(source));
}

export async function syncRepository(
  client: ApiClient,
  { id, name }: Target,
  { json }: { json?: boolean },
  output: CliOutput,
): Promise<void> {
  const source = await client.call('post', '/v2/serverless/{id}/git-source/sync', { path: { id } });
  if (json) output.print(jsonText(source));
  else output.note(`The server looks at ${source.url}. What it finds: podyard git show ${name}`);
}

export async function disconnectRepository(
  client: ApiClient,
  { id, name }: Target,
  { json }: { json?: boolean },
  output: CliOutput,
): Promise<void> {
  await client.call('delete', '/v2/serverless/{id}/git-source', { path: { id } });
  if (json) output.print(jsonText({ id, name, connected: false }));
  else output.note(`${name} is built from no repository any more, and keeps its image.`);
}

function sourceText(source: GitSource): string {
  const { url, branch, tags, folder, auth, pollSeconds, statuses, statusError, webhookUrl, webhookSecret } = source;
  const { isLooking, lastCommit, lastRef, lastError, lastLookedAt, lastBuildId } = source;
  const found = lastCommit === null ? null : `${lastCommit.slice(0, 7)} of ${lastRef}`;
  const rows: [label: string, value: string | null][] = [
    ['repository', url],
    ['builds', branch === null ? `the highest tag of ${tags}` : `branch ${branch}`],
    ['folder', folder || null],
    ['settings', source.applySettings ? 'as podyard.yaml of each commit says' : null],
    ['token', auth.type === 'TOKEN' ? `secret ${auth.secret ?? '(deleted)'}` : null],
    ['deploy key', auth.publicKey],
    ['polls', pollSeconds === null ? null : `every ${pollSeconds} seconds`],
    ['statuses', statuses === 'NONE' ? null : `to the API of ${statuses}`],
    ['webhook', webhookUrl],
    ['secret', webhookSecret && `${webhookSecret} (shown this once)`],
    ['last look', isLooking ? `is to come${lastError === null ? '' : ' again'}` : lastLookedAt],
    ['commit', found],
    ['build', lastBuildId],
    ['problem', lastError],
    ['problem', statusError],
  ];
  return rows.flatMap(([label, value]) => (value === null ? [] : [`${label.padEnd(11)} ${value}`])).join('\n');
}

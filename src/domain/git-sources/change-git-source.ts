import { Failure } from '../../core/errors.ts';
import { type EndpointId, type GitSourceId, newId, newSecret, type SecretId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';
import { type Actor, checkPermission } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { requireRead } from '../access/require-read.ts';
import { type BuildTx, checkBuilds, checkRegistries, checkSecrets } from '../builds/change-build.ts';
import type { Operation, Tx } from '../change.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import type { WebhookPolicy } from '../jobs/webhook-policy.ts';
import { sealSecret } from '../secrets/seal-secret.ts';
import { apiOfHost, hasStatusPath, type StatusApi } from './commit-status.ts';
import { newDeployKey } from './deploy-key.ts';
import { BRANCH, type GitSource, type GitTarget, TAG_PATTERN, WEBHOOK_SECRET_PREFIX } from './git-source.ts';
import {
  askForLook,
  deleteGitSource,
  findDeployKey,
  findGitSource,
  type GitSourceRow,
  getGitSource,
  upsertGitSource,
} from './git-source-store.ts';
import { addressOf, parseGitUrl } from './git-url.ts';

interface GitTx extends BuildTx {
  secretBox: SecretBox;
  webhooks: WebhookPolicy;
}

/** A client's settings of a source. */
export interface GitSourceSettings extends GitTarget {
  /** `secret`: the name of one. */
  auth: { type: 'NONE' } | { type: 'TOKEN'; secret: string } | { type: 'DEPLOY_KEY' };
  pollSeconds: number | null;
  /** Undefined: the API of a host that is known, with a token; else none. */
  statuses?: StatusApi | undefined;
}

interface Connect {
  id: EndpointId;
  settings: GitSourceSettings;
  rotateWebhookSecret: boolean;
}

/**
 * Has an endpoint's image built from a repository from now on, and has control look at it. Returns the webhook's secret if it is new:
 * at the first time, or if asked for. A deploy key stays the same. Throws `notFound`, `badRequest` for what is not valid or a
 * secret that does not exist, and `forbidden` where nothing is built or for a key that may not write builds.
 */
export const connectGit: Operation<GitTx, Connect, { source: GitSource; webhookSecret: string | null }, void> = {
  name: 'endpoint.connect-git',
  permission: PERMISSIONS.writeEndpoint,
  async prepare({ builds }) {
    checkBuilds(builds);
  },
  async run(tx, { id, settings, rotateWebhookSecret }) {
    const { db, actor, bus } = tx;
    checkPermission(actor, PERMISSIONS.writeBuild({}));
    await getEndpointRow(db, actor.userId, id, 'for update');
    const url = parseGitUrl(settings.url, tx.webhooks);
    checkSettings({ ...settings, url });
    if (settings.applySettings) checkMaySet(actor);
    await checkSecrets(db, actor, actor.userId, Object.values(settings.build.secrets ?? {}));
    await checkRegistries(db, actor, Object.values(settings.build.registries ?? {}));
    const before = await findGitSource(db, id);
    const source = before?.id ?? newId<GitSourceId>();
    const webhookSecret = before && !rotateWebhookSecret ? null : newSecret(WEBHOOK_SECRET_PREFIX);
    const { branch, tags, folder, build, pollSeconds, applySettings } = settings;
    await upsertGitSource(db, {
      ...{ id: source, endpointId: id, url, branch, tags, folder, build, pollSeconds, applySettings },
      statuses: statusesOf({ ...settings, url }),
      ...(await authColumns(tx, source, id, settings.auth)),
      webhookSecret: webhookSecret === null ? null : await sealSecret(db, tx.secretBox, webhookSecret, source),
    });
    bus.publish('git', source);
    return { source: await getGitSource(db, id), webhookSecret };
  },
  subject: ({ id }) => id,
};

/** Builds of its commits deploy nothing from now on. Does nothing without a source. Throws `notFound`. */
export const disconnectGit: Operation<Tx, { id: EndpointId }, void> = {
  name: 'endpoint.disconnect-git',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor }, { id }) {
    await getEndpointRow(db, actor.userId, id, 'for update');
    await deleteGitSource(db, id);
  },
  subject: ({ id }) => id,
};

/** Has control look at the repository now. Throws `notFound`, and `forbidden` as `connectGit`. */
export const syncGit: Operation<BuildTx, { id: EndpointId }, GitSource, void> = {
  name: 'endpoint.sync-git',
  permission: PERMISSIONS.writeEndpoint,
  async prepare({ builds }) {
    checkBuilds(builds);
  },
  async run({ db, actor, bus }, { id }) {
    checkPermission(actor, PERMISSIONS.writeBuild({}));
    await getEndpointRow(db, actor.userId, id);
    const source = await getGitSource(db, id);
    await askForLook(db, source.id);
    bus.publish('git', source.id);
    return getGitSource(db, id);
  },
  subject: ({ id }) => id,
};

/** A webhook says that a repository may have something new. */
export const noticePush: Operation<Tx, { sourceId: GitSourceId }, void> = {
  name: 'endpoint.notice-push',
  permission: () => PERMISSIONS.writeBuild({}),
  async run({ db, bus }, { sourceId }) {
    await askForLook(db, sourceId);
    bus.publish('git', sourceId);
  },
  subject: ({ sourceId }) => sourceId,
  isAudited: () => false, // control looks sooner; what it finds has entries of its own
};

/** Commits may then reference all that an endpoint can reference, without a key that is asked. */
function checkMaySet(actor: Actor): void {
  for (const area of ['account', 'registries', 'network-volumes'] as const)
    requireRead(
      actor,
      area,
      undefined,
      'applySettings, with which a commit may reference secrets, registries and volumes',
    );
}

function statusesOf({ url, auth, statuses }: GitSourceSettings): StatusApi {
  if (statuses !== undefined) return statuses;
  return auth.type === 'TOKEN' && hasStatusPath(url) ? apiOfHost(addressOf(url).host) : 'NONE';
}

function checkSettings({ url, branch, tags, folder, auth, statuses = 'NONE' }: GitSourceSettings): void {
  const refuse = (problem: string) => new Failure('badRequest', problem);
  if ((branch === null) === (tags === null)) throw refuse('branch, tags: give one of them, and not both');
  if (branch !== null && !BRANCH.test(branch)) throw refuse(`branch: '${branch}' is not a branch name, such as main`);
  if (tags !== null && !TAG_PATTERN.test(tags)) throw refuse(`tags: '${tags}' is not a tag pattern, such as v*`);
  const isInward = folder === '' || folder.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
  if (!isInward || /\p{Cc}/u.test(folder))
    throw refuse(`folder: '${folder}' is not a path in the repository, such as services/app`);
  const isSsh = addressOf(url).protocol === 'ssh';
  if (isSsh && auth.type !== 'DEPLOY_KEY') throw refuse('auth: a repository behind ssh needs DEPLOY_KEY');
  if (!isSsh && auth.type === 'DEPLOY_KEY')
    throw refuse('auth: DEPLOY_KEY is for a repository behind ssh, such as git@github.com:me/app.git');
  if (statuses === 'NONE') return;
  if (auth.type !== 'TOKEN') throw refuse(`statuses: ${statuses} needs a TOKEN, which may write statuses of commits`);
  if (!hasStatusPath(url)) throw refuse(`statuses: ${statuses} needs a URL that ends with owner/repository`);
}

type AuthColumns = Pick<GitSourceRow, 'auth' | 'tokenSecretId' | 'publicKey' | 'privateKey'>;

async function authColumns(
  { db, actor, secretBox }: GitTx,
  source: GitSourceId,
  endpointId: EndpointId,
  auth: GitSourceSettings['auth'],
): Promise<AuthColumns> {
  const none = { auth: auth.type, tokenSecretId: null, publicKey: null, privateKey: null };
  if (auth.type === 'NONE') return none;
  if (auth.type === 'TOKEN') return { ...none, tokenSecretId: await findSecretId(db, actor, auth.secret) };
  const known = await findDeployKey(db, endpointId);
  if (known) return { ...none, ...known };
  const { publicKey, privateKey } = newDeployKey(`podyard-${endpointId}`);
  return { ...none, publicKey, privateKey: await sealSecret(db, secretBox, privateKey, source) };
}

/** The repository's host gets the value, so the key must be permitted to use secrets. */
async function findSecretId(db: Db, actor: Actor, name: string): Promise<SecretId> {
  await checkSecrets(db, actor, actor.userId, [name]);
  const { rows } = await db.query<{ id: SecretId }>('select id from secrets where user_id = $1 and name = $2', [
    ...[actor.userId, name],
  ]);
  return rows[0]!.id;
}

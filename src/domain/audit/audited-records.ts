/**
 * The columns of each kind of record that an entry shows, and no others: a secret column is never read. For endpoints, pods and templates
 * these are the members that the API shows as well; sealed values are not among them. `hidden` values are compared, and shown as `***`.
 */
import { readsOf } from '../../db/columns.ts';
import { ENDPOINT_COLUMNS } from '../endpoints/endpoint-store.ts';
import { POD_SETTING_COLUMNS } from '../pods/pod-store.ts';
import { TEMPLATE_COLUMNS } from '../templates/template-store.ts';
import type { Hiding } from './diff-records.ts';

export interface AuditedRecord {
  /** The SQL after `from`; `$1` is the record's id. */
  from: string;
  owner: string;
  name: string;
  fields: Readonly<Record<string, string>>;
  hidden?: Partial<Hiding>;
  /** How the operations on it lock its row, before anything else; none: they lock other rows first. */
  lock?: string;
}

/** For a table with `id`, `user_id` and `name`. */
const OWNED = { owner: 'user_id', name: 'name' };

const PERSISTENT = `case when persistent_path is not null then
  jsonb_build_object('sizeGb', persistent_size_gb, 'path', persistent_path) end`;

const PERSON = { from: 'users t where t.id = $1', owner: 'id', name: 'name' };

/** Columns of local accounts that entries show: never a hash, and of a key only that it is there. */
const LOCAL_ACCOUNT_RECORDS = {
  invitation: { ...PERSON, fields: { expiresAt: '(select i.expires_at from invitations i where i.user_id = t.id)' } },
  password: { ...PERSON, fields: { changedAt: '(select p.changed_at from passwords p where p.user_id = t.id)' } },
  passkey: { from: 'passkeys t where t.id = $1', owner: 'user_id', name: 'name', fields: { name: 'name' } },
};

/** By the first word of the operations' names. */
export const AUDITED_RECORDS: Readonly<Record<string, AuditedRecord>> = {
  account: {
    from: 'users t where t.id = $1',
    owner: 'id',
    name: 'name',
    fields: { publicKeys: 'public_keys' },
  },
  budget: {
    from: 'budgets t where t.id = $1',
    owner: 'user_id',
    name: `coalesce((select e.name from endpoints e where e.id = t.endpoint_id), 'everything')`,
    fields: {
      amount: 'trim_scale(amount)::text',
      action: 'action',
      notifyAt: 'notify_at',
      webhook: 'webhook',
      endpointId: 'endpoint_id',
    },
    hidden: { values: ['webhook'] },
    lock: 'for update',
  },
  build: {
    from: 'builds t where t.id = $1',
    ...OWNED,
    fields: { endpointId: 'endpoint_id', source: 'source', commit: `git ->> 'commit'`, isCancelling: 'is_cancelling' },
  },
  cluster: {
    from: 'clusters t where t.id = $1',
    ...OWNED,
    fields: {
      name: 'name',
      type: 'type',
      gpuTypeId: 'gpu_type_id',
      gpusPerPod: 'gpus_per_pod',
      podCount: 'pod_count',
      cloud: 'cloud',
      wanted: 'wanted',
      registries: `(select jsonb_agg(distinct p.registry_id) from pods p where p.cluster_id = t.id and p.registry_id is not null)`,
    },
  },
  destination: {
    from: 'notice_destinations t where t.id = $1',
    ...OWNED,
    fields: {
      name: 'name',
      kind: 'kind',
      address: 'address',
      url: `encode(sha256(secret), 'hex')`,
      events: 'events',
      waitMinutes: 'wait_minutes',
      isEnabled: 'is_enabled',
    },
    hidden: { values: ['url'] },
  },
  delegation: {
    from: 'registry_delegations t where t.id = $1',
    ...OWNED,
    fields: { name: 'name', region: 'aws_region', account: 'aws_account', repository: 'repository', tag: 'tag' },
  },
  endpoint: {
    from: 'endpoints t where t.id = $1',
    ...OWNED,
    fields: {
      ...readsOf(ENDPOINT_COLUMNS, ['id', 'userId', 'createdAt']),
      models: `(select jsonb_agg((m ->> 'name') || '@' || (m ->> 'commit')) from jsonb_array_elements(t.models) m)`,
      isRolloutPaused: 'is_rollout_paused',
      servingVersion: 'serving_version',
      floors: '(select s.floors from endpoint_schedules s where s.endpoint_id = t.id)',
      workloadOptions: `(select jsonb_build_object('labels', o.labels, 'annotations', o.annotations, 'cpusPerGpu', o.cpus_per_gpu,
        'memoryGbPerGpu', o.memory_gb_per_gpu) from endpoint_workload_options o where o.endpoint_id = t.id)`,
      git: `(select jsonb_build_object('url', g.url, 'branch', g.branch, 'tags', g.tags, 'folder', g.folder, 'auth', g.auth,
        'pollSeconds', g.poll_seconds, 'statuses', g.statuses) from git_sources g where g.endpoint_id = t.id)`,
    },
    hidden: { maps: ['env'] },
    lock: 'for update',
  },
  identity: {
    from: 'users t where t.id = $1',
    owner: 'id',
    name: 'name',
    fields: {
      email: 'email',
      role: 'role',
      issuers: '(select jsonb_agg(i.issuer order by i.issuer) from identities i where i.user_id = t.id)',
    },
  },
  ...LOCAL_ACCOUNT_RECORDS,
  key: {
    from: 'api_keys t where t.id = $1',
    ...OWNED,
    fields: {
      name: 'name',
      scopes: 'scopes',
      expiresAt: 'expires_at',
      allowedNetworks: 'allowed_networks',
      isDisabled: 'disabled_at is not null',
      isRevoked: 'revoked_at is not null',
      restRevision: 'rest_revision',
    },
  },
  limits: {
    from: `(select nullif($1, 'installation') as user_id) t`,
    owner: 'user_id',
    name: `coalesce((select u.name from users u where u.id = t.user_id), 'installation')`,
    fields: {
      limits: `(select jsonb_object_agg(l.name, l.value) from user_limits l where l.user_id is not distinct from t.user_id)`,
    },
  },
  model: {
    from: 'machine_models t where t.model_id = $1',
    owner: 'null::text',
    name: '(select m.name from pinned_models m where m.id = t.model_id)',
    fields: {
      isWanted: 'wanted_by is not null',
      tokenSecret: 'token_secret',
      isPinned: 'is_kept',
      isRemoving: 'removal_wanted_at is not null',
    },
  },
  pod: {
    from: 'pods t where t.id = $1',
    ...OWNED,
    fields: {
      ...readsOf(POD_SETTING_COLUMNS, ['mounts', 'dataCenterId', 'cudaVersion']),
      persistent: PERSISTENT,
      network: `case when network_volume_path is not null then
        jsonb_build_object('volumeId', network_volume_id, 'path', network_volume_path) end`,
      wanted: 'wanted',
      stopAt: 'stop_at',
      terminateAt: 'terminate_at',
    },
    hidden: { maps: ['env'] },
    lock: 'for update',
  },
  registry: {
    from: 'registries t where t.id = $1',
    ...OWNED,
    fields: { name: 'name', credentials: `encode(sha256(convert_to(username, 'UTF8') || password), 'hex')` },
    hidden: { values: ['credentials'] },
    lock: 'for update',
  },
  accesskey: {
    from: 's3_keys t where t.id = $1',
    ...OWNED,
    fields: { name: 'name', scopes: 'scopes', expiresAt: 'expires_at' },
  },
  secret: {
    from: 'secrets t where t.id = $1',
    ...OWNED,
    fields: { name: 'name', description: 'description', value: `encode(sha256(value), 'hex')` },
    hidden: { values: ['value'] },
    lock: 'for update',
  },
  session: {
    from: 'sessions t where t.id = $1',
    owner: 'user_id',
    name: 'user_agent',
    fields: { madeBy: 'made_by', keyId: 'key_id', provider: 'provider', address: 'address' },
  },
  simulation: {
    from: `settings t where t.key = 'simulation' and $1::text is not null`,
    owner: 'null::text',
    name: `'simulation'`,
    fields: { gpus: `value -> 'gpus'`, slowPull: `value -> 'slowPull'` },
  },
  team: {
    from: 'users t where t.id = $1',
    owner: 'id',
    name: 'name',
    fields: {
      name: 'name',
      members: '(select jsonb_object_agg(m.user_id, m.role) from team_members m where m.team_id = t.id)',
      isRemoving: 'removing_at is not null',
    },
  },
  template: {
    from: 'templates t where t.id = $1',
    ...OWNED,
    fields: {
      ...readsOf(TEMPLATE_COLUMNS, ['id', 'userId', 'createdAt', 'endpointId', 'persistentMount']),
      persistent: PERSISTENT,
    },
    hidden: { maps: ['env', 'clientSettings'] },
    lock: 'for update',
  },
  terminal: {
    from: 'terminal_sessions t where t.id = $1',
    owner: 'user_id',
    name: 'program',
    fields: {
      podId: 'pod_id',
      endpointId: 'endpoint_id',
      workerId: 'worker_id',
      program: 'program',
      isEnding: 'end_wanted_at is not null',
    },
  },
  user: {
    from: 'users t where t.id = $1',
    owner: 'id',
    name: 'name',
    fields: {
      name: 'name',
      email: 'email',
      role: 'role',
      suspendedWorkloads: 'suspended_workloads',
      suspensionReason: 'suspension_reason',
      isRemoving: 'removing_at is not null',
      isRateExempt: 'is_rate_exempt',
      requestsPerMinute: 'rate_limit_minute',
      requestsPerHour: 'rate_limit_hour',
      requestsPerDay: 'rate_limit_day',
    },
  },
  volume: {
    from: 'network_volumes t where t.id = $1',
    ...OWNED,
    fields: { name: 'name', sizeGb: 'size_gb', dataCenterId: 'data_center_id', type: 'type' },
    lock: 'for no key update',
  },
};

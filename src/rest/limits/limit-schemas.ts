import type { TOptional, TUnsafe } from 'typebox';
import { effectiveLimits, LIMIT_NAMES, type LimitName } from '../../domain/quotas/limits.ts';
import { type NamedSchemas, USER_ID } from '../shared/example-values.ts';
import { closed, nullableInteger, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX = Number.MAX_SAFE_INTEGER;

const DESCRIPTIONS: Record<LimitName, string> = {
  endpoints: 'Endpoints.',
  pods: 'Pods, stopped ones included.',
  workers: 'Workers at once over all endpoints, without frozen ones. `workers.max` counts up to it.',
  gpus: 'GPUs at once, of workers and of pods that run or start.',
  queuedJobs: 'Queued jobs over all endpoints.',
  queuedBytes: 'Bytes of queued jobs over all endpoints.',
  logBytesPerDay: 'Log bytes stored in a UTC day.',
  streamBytesPerJob: 'Bytes that one job may stream.',
  requestBytes: 'Bytes in the body of a job or a load-balanced request, below the server’s own limit.',
  builds: 'Builds at once, within those of the installation; the others wait.',
  buildBytes: 'Bytes of files that were sent for builds.',
  workerQuota: 'Workers that the user is sure to get.',
  gpuQuota: 'GPUs that the user is sure to get.',
};

function eachLimit<T>(schemaOf: (description: string) => T): Record<LimitName, T> {
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, schemaOf(DESCRIPTIONS[name])])) as Record<LimitName, T>;
}

const value = (description: string) => nullableInteger({ minimum: 0, maximum: MAX, description });

const LimitsResponse = Type.Object(eachLimit(value), {
  $id: 'Limits',
  description: 'Podyard only: the limits and quotas that apply. Null: unlimited, or no quota.',
});

const OwnLimitsResponse = Type.Object(
  eachLimit((description) => Type.Optional(value(description))),
  { $id: 'OwnLimits', description: 'Podyard only: the limits and quotas that are set here; the others are inherited.' },
);

const count = () => Type.Integer({ minimum: 0 });

const QuotaUseResponse = Type.Object(
  {
    quota: nullableInteger({ minimum: 0, description: 'Null: none.' }),
    used: count(),
    borrowed: Type.Integer({ minimum: 0, description: 'Used beyond the quota, until others need it.' }),
  },
  { $id: 'QuotaUse', description: 'Podyard only: a quota and its use.' },
);

export const UserLimitsResponse = Type.Object(
  {
    userId: Type.String(),
    name: Type.String(),
    limits: ref(LimitsResponse),
    own: ref(OwnLimitsResponse),
    usage: Type.Object({
      endpoints: count(),
      pods: count(),
      workers: count(),
      gpus: count(),
      queuedJobs: count(),
      queuedBytes: count(),
      logBytesToday: count(),
    }),
    quotas: Type.Object({ workers: ref(QuotaUseResponse), gpus: ref(QuotaUseResponse) }),
  },
  { $id: 'UserLimits', description: 'Podyard only: what a user may have, and has.' },
);

export const InstallationLimitsResponse = Type.Object(
  { limits: ref(LimitsResponse), own: ref(OwnLimitsResponse) },
  {
    $id: 'InstallationLimits',
    description: 'Podyard only: the limits of users without their own, and which of them are set.',
  },
);

type Change = TOptional<TUnsafe<number | null | 'DEFAULT'>>;

export const UpdateLimitsRequest = closed(
  eachLimit(
    (description): Change =>
      Type.Optional(
        Type.Unsafe<number | null | 'DEFAULT'>({
          type: ['integer', 'null', 'string'],
          minimum: 0,
          maximum: MAX,
          pattern: '^DEFAULT$',
          description,
        }),
      ),
  ),
  {
    $id: 'UpdateLimitsRequest',
    description:
      'Podyard only: new limits and quotas. Absent: unchanged; null: unlimited, or no quota; `DEFAULT`: inherited again. ' +
      'A quota must not exceed its limit.',
  },
);

export const UserParams = Type.Object({ id: Type.String({ description: 'User identifier.' }) });

const own = { workers: 50, gpuQuota: 4 };
const limits = effectiveLimits(own, {});
const gpus = { quota: 4, used: 6, borrowed: 2 };

export const USER_LIMITS_EXAMPLE = {
  userId: USER_ID,
  name: 'alice',
  limits,
  own,
  usage: {
    endpoints: 3,
    pods: 1,
    workers: 7,
    gpus: 7,
    queuedJobs: 120,
    queuedBytes: 524_288,
    logBytesToday: 1_048_576,
  },
  quotas: { workers: { quota: null, used: 6, borrowed: 0 }, gpus },
};

export const LIMIT_SCHEMAS: NamedSchemas = [
  [LimitsResponse, limits],
  [OwnLimitsResponse, own],
  [QuotaUseResponse, gpus],
  [UserLimitsResponse, USER_LIMITS_EXAMPLE],
  [InstallationLimitsResponse, { limits: effectiveLimits({}, { pods: 20 }), own: { pods: 20 } }],
  [UpdateLimitsRequest, { workers: 50, gpuQuota: 4, gpus: null, pods: 'DEFAULT' }],
];

import type { ApiServer } from '../../runtimes/kubernetes/api/api-server.ts';
import type { Finding } from './finding.ts';

/** Verbs that the runtime uses on a resource. Required, unless `lack` says what is lost without them. */
interface Right {
  group?: string;
  /** With its subresource, if any: `pods/log`. */
  resource: string;
  verbs: readonly string[];
  /** In all namespaces, or of a cluster-scoped resource. */
  isClusterWide?: true;
  /** The feature that is lost without it. */
  lack?: string;
}

/** Every server needs these to find and reach workers and pods. */
const READING: readonly Right[] = [
  { resource: 'pods', verbs: ['get', 'list', 'watch'] },
  { resource: 'nodes', verbs: ['list', 'watch'], isClusterWide: true },
];

/** A server with role control needs these to start workers and pods. */
const RUNNING: readonly Right[] = [
  { resource: 'pods', verbs: ['create', 'patch', 'delete'] },
  { resource: 'pods/log', verbs: ['get'] },
  { resource: 'secrets', verbs: ['create', 'get', 'list', 'patch', 'delete'] },
  { resource: 'services', verbs: ['create', 'list', 'watch', 'delete'] },
  { group: 'networking.k8s.io', resource: 'networkpolicies', verbs: ['create', 'delete'], lack: 'no clusters' },
  { resource: 'persistentvolumeclaims', verbs: ['create', 'get', 'patch', 'delete'] },
  { resource: 'events', verbs: ['list', 'watch'], lack: 'no reasons for slow pulls and failed starts' },
  {
    group: 'policy',
    resource: 'poddisruptionbudgets',
    verbs: ['create', 'patch', 'list', 'delete'],
    lack: 'a drain may take all workers of an endpoint at once',
  },
  { resource: 'pods/resize', verbs: ['patch'], lack: 'parked workers keep their CPUs' },
];

const NO_DRA = 'GPUs of DRA drivers are not seen';

/** Optional rights beyond the namespace. */
const READING_MORE: readonly Right[] = [
  { resource: 'pods', verbs: ['list', 'watch'], isClusterWide: true, lack: 'GPUs that others hold look free' },
  { group: 'resource.k8s.io', resource: 'resourceslices', verbs: ['list', 'watch'], isClusterWide: true, lack: NO_DRA },
  { group: 'resource.k8s.io', resource: 'deviceclasses', verbs: ['list', 'watch'], isClusterWide: true, lack: NO_DRA },
  { resource: 'nodes/stats', verbs: ['get'], isClusterWide: true, lack: 'no usage figures of volumes' },
  { group: 'metrics.k8s.io', resource: 'pods', verbs: ['get'], lack: 'no usage figures of pods from the metrics API' },
];

/** Terminals need this, at every server. The chart grants it with `rbac.terminal`. */
const PROGRAMS: readonly Right[] = [
  { resource: 'pods/exec', verbs: ['create', 'get'], lack: 'no terminals, `podyard exec` and `podyard cp`' },
];

/** Every right that a server uses. */
export const RIGHTS: readonly Right[] = [...READING, ...RUNNING, ...READING_MORE, ...PROGRAMS];

interface Review {
  status?: { allowed?: boolean };
}

/** Asks the cluster, one access review per verb. */
export async function checkRights(
  api: ApiServer,
  namespace: string,
  { isControl }: { isControl: boolean },
): Promise<Finding[]> {
  const what = 'rights';
  const rights = RIGHTS.filter((right) => isControl || !RUNNING.includes(right));
  const lacking = await Promise.all(
    rights.map(async (right) => ({ right, verbs: await refused(api, namespace, right) })),
  );
  const named = (isNeeded: boolean) =>
    lacking
      .filter(({ right, verbs }) => verbs.length > 0 && (right.lack === undefined) === isNeeded)
      .map(({ right, verbs }) => {
        const name = right.group ? `${right.resource}.${right.group}` : right.resource;
        return `${verbs.join(', ')} ${name}${right.lack === undefined ? '' : ` (${right.lack})`}`;
      });
  const [needed, wanted] = [named(true), named(false)];
  const findings: Finding[] = [];
  if (needed.length > 0) {
    const advice = `Grant them in namespace ${namespace}, those on nodes cluster-wide: the Helm chart creates such roles.`;
    findings.push({ what, verdict: 'missing', found: `not allowed to ${needed.join('; ')}`, advice });
  }
  if (wanted.length > 0) {
    const advice = 'Everything else works without them.';
    findings.push({ what, verdict: 'note', found: `not allowed to ${wanted.join('; ')}`, advice });
  }
  if (findings.length > 0) return findings;
  return [{ what, verdict: 'ok', found: `everything needed in namespace ${namespace}` }];
}

async function refused(api: ApiServer, namespace: string, right: Right): Promise<string[]> {
  const [resource, subresource] = right.resource.split('/');
  const answers = await Promise.all(
    right.verbs.map(async (verb) => {
      const place = right.isClusterWide ? {} : { namespace };
      const resourceAttributes = { ...place, verb, resource, subresource, group: right.group ?? '' };
      const { status } = await api.json<Review>({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
        timeoutMs: 5_000,
      });
      return { verb, isAllowed: status?.allowed === true };
    }),
  );
  return answers.filter(({ isAllowed }) => !isAllowed).map(({ verb }) => verb);
}

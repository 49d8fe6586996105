import type { ApiServer } from '../runtimes/kubernetes/api-server.ts';
import type { Finding } from './finding.ts';

/** Something that the runtime does; without `lack` it cannot do without it. */
interface Right {
  group?: string;
  /** Perhaps with a subresource: `pods/log`. */
  resource: string;
  verbs: readonly string[];
  /** In all namespaces, or of none. */
  isClusterWide?: true;
  /** What is not to be had without it. */
  lack?: string;
}

/** Of every server: it finds and reaches workers and pods. */
const LOOKING: readonly Right[] = [
  { resource: 'pods', verbs: ['get', 'list', 'watch'] },
  { resource: 'nodes', verbs: ['list', 'watch'], isClusterWide: true },
];

/** Of one that starts workers and pods. */
const RUNNING: readonly Right[] = [
  { resource: 'pods', verbs: ['create', 'patch', 'delete'] },
  { resource: 'pods/log', verbs: ['get'] },
  { resource: 'secrets', verbs: ['create', 'get', 'list', 'patch', 'delete'] },
  { resource: 'services', verbs: ['create', 'list', 'watch', 'delete'] },
  { resource: 'persistentvolumeclaims', verbs: ['create', 'get', 'patch', 'delete'] },
  { resource: 'events', verbs: ['list', 'watch'], lack: 'no reasons of pulls and failed starts' },
  { resource: 'pods/resize', verbs: ['patch'], lack: 'parked workers keep their CPUs' },
];

/** What the cluster's owner may refuse. */
const LOOKING_FURTHER: readonly Right[] = [
  { resource: 'pods', verbs: ['list', 'watch'], isClusterWide: true, lack: 'GPUs that others hold seem free' },
  { group: 'metrics.k8s.io', resource: 'pods', verbs: ['get'], lack: 'figures of pods by the metrics API' },
];

/** All that a server ever asks for. */
export const RIGHTS: readonly Right[] = [...LOOKING, ...RUNNING, ...LOOKING_FURTHER];

interface Review {
  status?: { allowed?: boolean };
}

/** By asking the cluster itself, a question for each verb. */
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
    const advice = `In namespace ${namespace}, nodes in the whole cluster: the Helm chart makes such roles.`;
    findings.push({ what, verdict: 'missing', found: `we may not ${needed.join('; ')}`, advice });
  }
  if (wanted.length > 0) {
    const advice = 'Everything else works without.';
    findings.push({ what, verdict: 'note', found: `we may not ${wanted.join('; ')}`, advice });
  }
  if (findings.length > 0) return findings;
  return [{ what, verdict: 'ok', found: `all that is needed in namespace ${namespace}` }];
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

import type { KubernetesSettings } from '../../config/kubernetes-settings.ts';
import { counted } from '../../core/text/counted.ts';
import { findDataCenter, gpuPools, LOCAL_DATA_CENTER } from '../../domain/catalog/catalog.ts';
import { partOf, type TypeInPool } from '../../domain/catalog/part-types.ts';
import type { Node } from '../../runtimes/kubernetes/api/objects.ts';
import { withDevices } from '../../runtimes/kubernetes/nodes/device-slices.ts';
import type { NodeRecord } from '../../runtimes/kubernetes/nodes/nodes.ts';
import { gpuOfProduct, toNodeRecord } from '../../runtimes/kubernetes/nodes/nodes.ts';
import type { Finding } from './finding.ts';

/** Returns the usable nodes by data center and GPU pool, and what of their labels the catalog doesn't know. */
export function checkNodes(
  nodes: readonly Node[],
  settings: KubernetesSettings,
  areGpusSimulated: boolean,
  devices: ReadonlyMap<string, number> = new Map(),
): Finding[] {
  const known = [...withDevices(nodes.map((node) => toNodeRecord(node, settings)), devices)]; // biome-ignore format: one thing
  const usable = known.filter((node) => node.isUsable && node.unreadySince === null);
  if (usable.length === 0) return [noNodes(known)];
  const findings: Finding[] = byDataCenter(usable).map((found) => ({ what: 'nodes', verdict: 'ok', found }));
  if (areGpusSimulated) {
    const found = 'simulated, as configured: workers run on the CPU of any node';
    return [...findings, { what: 'GPUs', verdict: 'note', found }];
  }
  return [...findings, ...oddDataCenters(usable, settings), ...oddGpus(usable, settings)];
}

function noNodes(known: readonly NodeRecord[]): Finding {
  const unready = known.filter(({ unreadySince }) => unreadySince !== null).length;
  const others = known.length - unready;
  const found = `none usable: of ${known.length}, ${unready} are not ready, ${others} are tainted, cordoned or not selected`;
  const advice = 'See PODYARD_KUBERNETES_TOLERATIONS and PODYARD_KUBERNETES_NODE_SELECTOR.';
  return { what: 'nodes', verdict: 'missing', found, advice };
}

/** `LOCAL-1: 3 nodes; ADA_24 8 GPUs on 2 nodes, 1 node without` */
function byDataCenter(nodes: readonly NodeRecord[]): string[] {
  const groups = Map.groupBy(nodes, ({ dataCenterId }) => dataCenterId ?? LOCAL_DATA_CENTER);
  return [...groups].map(([dataCenterId, members]) => {
    const pools = Map.groupBy(
      members.filter(({ gpus }) => gpus > 0),
      ({ gpuProduct }) => gpuOfProduct(gpuProduct ?? '').pool || 'unlabeled',
    );
    const parts = [...pools].map(
      ([pool, those]) =>
        `${pool} ${those.reduce((sum, { gpus }) => sum + gpus, 0)} GPUs on ${counted(those.length, 'node')}`,
    );
    const without = members.filter(({ gpus }) => gpus === 0).length;
    if (without > 0) parts.push(`${counted(without, 'node')} without GPUs`);
    return `${dataCenterId}: ${parts.join(', ')}`;
  });
}

/** Data centers missing from the catalog: workers may run there, but no request can name one. */
function oddDataCenters(nodes: readonly NodeRecord[], { dataCenterLabel }: KubernetesSettings): Finding[] {
  const ids = new Set(nodes.map(({ dataCenterId }) => dataCenterId ?? LOCAL_DATA_CENTER));
  const odd = [...ids].filter((id) => !findDataCenter(id));
  if (odd.length === 0) return [];
  const advice = `No request can name ${odd.length === 1 ? 'it' : 'them'}: add data centers with --catalog, or choose another label with PODYARD_KUBERNETES_DATA_CENTER_LABEL.`;
  const found = `not in the catalog: ${odd.join(', ')}, from label ${dataCenterLabel}`;
  return [{ what: 'places', verdict: 'note', found, advice }];
}

function oddGpus(nodes: readonly NodeRecord[], { gpuLabel, gpuResource }: KubernetesSettings): Finding[] {
  const withGpus = nodes.filter(({ gpus }) => gpus > 0);
  const what = 'GPUs';
  if (withGpus.length === 0) {
    const advice = `Nodes with GPUs need the resource ${gpuResource} (device plugin, or a DRA driver and a DeviceClass with that extendedResourceName) and the label ${gpuLabel} (GPU feature discovery).`;
    return [{ what, verdict: 'note', found: 'none: 4 GPUs of pool ADA_24 are simulated', advice }];
  }
  const findings: Finding[] = [];
  const nameless = withGpus.filter(({ gpuProduct }) => gpuProduct === null).map(({ key }) => key);
  if (nameless.length > 0) {
    const advice = 'Their GPUs cannot be requested: set the label with GPU feature discovery or kubectl label node.';
    const found = `${nameless.slice(0, 5).join(', ')}${nameless.length > 5 ? ' and others' : ''} have GPUs but no label ${gpuLabel}`;
    findings.push({ what, verdict: 'note', found, advice });
  }
  const products = new Set(withGpus.flatMap(({ gpuProduct }) => gpuProduct ?? []));
  const shared = [...products].map(gpuOfProduct).filter(({ gpuTypeId }) => partOf(gpuTypeId)?.kind === 'SHARED');
  if (shared.length > 0) {
    const found = `shared, not isolated: those of pool ${shared.map(({ pool }) => pool).join(' and ')}`;
    findings.push({ what, verdict: 'note', found });
  }
  const isOdd = ({ pool, gpuTypeId }: TypeInPool) => !gpuPools().includes(pool) && partOf(gpuTypeId) === null;
  const odd = [...products].filter((product) => isOdd(gpuOfProduct(product)));
  if (odd.length > 0) {
    const advice = 'Each forms its own pool under that name. Add a type and a pool with --catalog.';
    findings.push({ what, verdict: 'note', found: `not in the catalog: ${odd.join(', ')}`, advice });
  }
  return findings;
}

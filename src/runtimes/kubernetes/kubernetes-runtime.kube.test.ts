import { describeOnCluster } from '../../../test/kubernetes/cluster.ts';
import { runtimeOnCluster } from '../../../test/kubernetes/runtime-on-cluster.ts';
import { runtimeContract } from '../../../test/runtime-contract/contract.ts';

describeOnCluster('with a cluster', () => {
  runtimeContract('kubernetes', runtimeOnCluster, ['life']);
});

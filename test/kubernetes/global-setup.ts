import { execFileSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';

const KUBE_DOWN = new URL('kube-down.sh', import.meta.url).pathname;

/**
 * The first test that needs the cluster starts it (cluster.ts). Returns the teardown, which stops it unless another run uses it or
 * it was started by hand.
 */
export default function setup(project: TestProject): () => void {
  project.provide('clusterUser', process.pid);
  return () => {
    if (process.env.PODYARD_TEST_KUBECONFIG || process.platform !== 'linux') return;
    execFileSync(KUBE_DOWN, ['--leave', String(process.pid)]);
  };
}

/** Makes the trees of Debian that the tests of a release install things in, unless they are there. */
import { debianTree } from './debian-tree.ts';
import { systemdTree } from './systemd-tree.ts';

for (const suite of ['bookworm', 'bullseye', 'trixie'] as const) await debianTree(suite);
await systemdTree();

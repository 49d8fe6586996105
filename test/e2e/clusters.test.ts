import { clusterTests } from './clusters.ts';

clusterTests('process');

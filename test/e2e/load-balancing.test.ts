import { loadBalancingTests } from './load-balancing.ts';

loadBalancingTests('process');

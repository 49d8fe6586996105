import { podTests } from './pods.ts';

podTests('process', '/podyard-e2e-pods');

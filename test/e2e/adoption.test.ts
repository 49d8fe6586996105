import { adoptionTests } from './adoption.ts';

adoptionTests('process');

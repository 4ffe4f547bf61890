import { stormOn } from './storm/storm-spec.js';

stormOn('etcd');

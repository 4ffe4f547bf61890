import { Inject } from '@nestjs/common';
import { REF_COUNT_STORAGE } from './ref-count-storage.interface.js';

/** Injects the `RefCountStorage`, or `undefined` where references live in the resource's own state. */
export const InjectRefCountStorage = (): ParameterDecorator & PropertyDecorator => Inject(REF_COUNT_STORAGE);

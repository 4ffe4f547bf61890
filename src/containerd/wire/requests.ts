import {
  type Info,
  type Labels,
  type ReadRequest,
  type UpdateRequest,
  type WriteRequest,
} from './messages.js';
import { ProtoReader } from './proto-reader.js';

/** Requests as they come: the numbers are those of proto/content.proto. */

export function digestRequest(message: Buffer): { digest: string } {
  return { digest: onlyString(message) };
}

export function refRequest(message: Buffer): { ref: string } {
  return { ref: onlyString(message) };
}

export function filtersRequest(message: Buffer): { filters: string[] } {
  return { filters: strings(message) };
}

export function readRequest(message: Buffer): ReadRequest {
  const reader = new ProtoReader(message);
  let digest = '';
  let offset = 0;
  let size = 0;
  while (reader.next()) {
    if (reader.field === 1) digest = reader.string();
    else if (reader.field === 2) offset = reader.int64();
    else if (reader.field === 3) size = reader.int64();
    else reader.skip();
  }
  return { digest, offset, size };
}

const NO_BYTES: Buffer = Buffer.alloc(0);

export function writeRequest(message: Buffer): WriteRequest {
  const reader = new ProtoReader(message);
  const request = { action: 0, ref: '', total: 0, expected: '', offset: 0, data: NO_BYTES, labels: {} };
  while (reader.next()) {
    if (reader.field === 1) request.action = reader.int64();
    else if (reader.field === 2) request.ref = reader.string();
    else if (reader.field === 3) request.total = reader.int64();
    else if (reader.field === 4) request.expected = reader.string();
    else if (reader.field === 5) request.offset = reader.int64();
    else if (reader.field === 6) request.data = reader.bytes();
    else if (reader.field === 7) Object.assign(request.labels, entry(reader.bytes()));
    else reader.skip();
  }
  return request;
}

export function updateRequest(message: Buffer): UpdateRequest {
  const reader = new ProtoReader(message);
  let info: UpdateRequest['info'] = null;
  let mask: UpdateRequest['update_mask'] = null;
  while (reader.next()) {
    if (reader.field === 1) info = changes(reader.bytes());
    else if (reader.field === 2) mask = { paths: strings(reader.bytes()) };
    else reader.skip();
  }
  return { info, update_mask: mask };
}

/** Of an update: what cannot be changed is not looked at. */
function changes(message: Buffer): Pick<Info, 'digest' | 'labels'> {
  const reader = new ProtoReader(message);
  let digest = '';
  const labels = {};
  while (reader.next()) {
    if (reader.field === 1) digest = reader.string();
    else if (reader.field === 5) Object.assign(labels, entry(reader.bytes()));
    else reader.skip();
  }
  return { digest, labels };
}

function entry(message: Buffer): Labels {
  const reader = new ProtoReader(message);
  let key = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) value = reader.string();
    else reader.skip();
  }
  return Object.fromEntries([[key, value]]);
}

function onlyString(message: Buffer): string {
  return strings(message).at(-1) ?? '';
}

/** All of field 1. */
function strings(message: Buffer): string[] {
  const reader = new ProtoReader(message);
  const found: string[] = [];
  while (reader.next()) {
    if (reader.field === 1) found.push(reader.string());
    else reader.skip();
  }
  return found;
}

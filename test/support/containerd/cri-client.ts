import { GrpcClient } from './grpc-client.js';

const PROTO = 'test/support/containerd/cri.proto';

/** Asks containerd for images as a kubelet does. */
export class CriClient extends GrpcClient {
  constructor(socket: string) {
    super(PROTO, 'runtime.v1.ImageService', socket);
  }

  /** Fetched and unpacked. The id of the image. */
  async pull(ref: string): Promise<string> {
    return (await this.call<{ image_ref: string }>('PullImage', { image: { image: ref } })).image_ref;
  }

  async tags(): Promise<string[]> {
    const { images } = await this.call<{ images: { repo_tags: string[] }[] }>('ListImages', {});
    return images.flatMap((image) => image.repo_tags);
  }

  async remove(ref: string): Promise<void> {
    await this.call('RemoveImage', { image: { image: ref } });
  }
}

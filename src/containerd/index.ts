/** The content plugin of containerd. */
export { configWarnings } from './containerd-config.js';
export { ContainerdPlugin, type PluginOptions } from './plugin.js';

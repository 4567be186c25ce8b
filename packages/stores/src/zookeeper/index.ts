/**
 * The store in a ZooKeeper ensemble, with a client of our own: nothing has to be installed for it. Needs ZooKeeper 3.6
 * or newer.
 */
export { parseZookeeperUrl, type ZookeeperStoreOptions } from "./options.js";
export { ZookeeperStore } from "./zookeeper-store.js";

/** The store on an etcd cluster: durable, replicated, for any number of servers at once. */
export { EtcdStore } from "./etcd-store.js";
export { type EtcdStoreOptions, parseEtcdUrl } from "./options.js";

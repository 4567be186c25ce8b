/** Counts the requests that are being answered, over HTTP and gRPC, so that a server can say what it waits for when it stops. */
export class RequestsInFlight {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
  }
}

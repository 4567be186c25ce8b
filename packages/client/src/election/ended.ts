/** For signals that nobody asks why. Without a reason each abort would make an error of its own, with its stack. */
export const ENDED: Error = new Error("it has ended");

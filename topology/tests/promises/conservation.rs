//! No record is lost and none is in two places: whatever is sent, whatever fails, whenever the host dies.
